"""What a log directory holds, told by Kafka's dump tool and not by our own reader."""
import re
import subprocess
from dataclasses import dataclass, field

from . import jars

DUMP_VERSION = "4.3.1"
BATCH = re.compile(r"baseOffset: (-?\d+) lastOffset: (-?\d+) count: (-?\d+) baseSequence: (-?\d+) lastSequence: (-?\d+) "
                   r"producerId: (-?\d+) producerEpoch: (-?\d+) partitionLeaderEpoch: (-?\d+) isTransactional: (\w+) isControl: (\w+)")
RECORD = re.compile(r"\| offset: (\d+) \w+: (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) sequence: (-?\d+) headerKeys: \[.*?\](?: key: (.*?))?(?: payload: (.*))?$")
MARKER = re.compile(r"\| offset: (\d+) .*endTxnMarker: (\w+)")


@dataclass
class Batch:
    topic: str
    partition: int
    base_offset: int
    count: int
    base_sequence: int
    last_sequence: int
    producer_id: int
    producer_epoch: int
    transactional: bool
    control: bool
    marker: str = ""
    records: list = field(default_factory=list)


@dataclass
class Record:
    batch: Batch
    offset: int
    sequence: int
    key: str | None
    value: str | None
    outcome: str = ""       # of its transaction: committed, aborted, open

    @property
    def place(self):
        return self.batch.topic, self.batch.partition, self.offset

    @property
    def visibility(self):
        return self.outcome if self.batch.transactional else "non-transactional"


def read(data):
    """The batches of all topics that are not Kafka's own, by partition and offset; outcomes filled in."""
    logs = sorted(p for p in data.rglob("*.log") if not p.parent.name.startswith("__"))
    tool = "org.apache.kafka.tools.DumpLogSegments"
    dump = subprocess.run(jars.java(DUMP_VERSION, "Dump", tool), input="".join(f"{p}\n" for p in logs), capture_output=True, text=True)
    batches, topic, partition = [], None, None
    for line in dump.stdout.splitlines():
        if line.startswith("FILE "):
            topic, _, number = line.split("/")[-2].rpartition("-")
            partition = int(number)
        elif m := BATCH.match(line):
            base, _, count, first, last, pid, epoch, _ = (int(n) for n in m.groups()[:8])
            batches.append(Batch(topic, partition, base, count, first, last, pid, epoch, m[9] == "true", m[10] == "true"))
        elif m := MARKER.match(line):
            batches[-1].marker = m[2]
        elif m := RECORD.match(line):
            key = None if m[3] == "-1" else m[6] or ""
            value = None if m[4] == "-1" else m[7] or ""
            batches[-1].records.append(Record(batches[-1], int(m[1]), int(m[5]), key, value))
    batches.sort(key=lambda b: (b.topic, b.partition, b.base_offset))
    outcomes(batches)
    return batches


def outcomes(batches):
    """Pairs markers with data by producer id and partition; returns the transactions."""
    transactions, running = [], {}
    for batch in batches:
        at = batch.topic, batch.partition, batch.producer_id
        if batch.control and at in running:
            transaction = running.pop(at)
            transaction["outcome"] = "committed" if batch.marker == "COMMIT" else "aborted"
            transaction["markerOffset"] = batch.base_offset
        elif batch.transactional and not batch.control and batch.records:
            if at not in running:
                running[at] = {"producerId": batch.producer_id, "producerEpoch": batch.producer_epoch, "outcome": "open", "topic": batch.topic,
                               "partition": batch.partition, "firstOffset": batch.records[0].offset, "batches": [], "markerOffset": None}
                transactions.append(running[at])
            running[at]["lastOffset"] = batch.records[-1].offset
            running[at]["batches"].append(batch)
    for transaction in transactions:
        for batch in transaction.pop("batches"):
            for record in batch.records:
                record.outcome = transaction["outcome"]
    return transactions
