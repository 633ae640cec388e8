"""What a log directory holds, told by Kafka's dump tool and not by our own reader."""
import re
import subprocess
from dataclasses import dataclass, field

from . import jars, releases

BATCH = re.compile(r"baseOffset: (-?\d+) lastOffset: (-?\d+) count: (-?\d+) baseSequence: (-?\d+) lastSequence: (-?\d+) "
                   r"producerId: (-?\d+) producerEpoch: (-?\d+) partitionLeaderEpoch: (-?\d+) isTransactional: (\w+) isControl: (\w+)")
LEGACY_BATCH = re.compile(r"offset: (\d+) position: .* magic: [01] ")
RECORD = re.compile(r"\| offset: (\d+) \w+: (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) "
                    r"(?:sequence: (-?\d+) headerKeys: \[.*?\]|isValid: \w+ crc: \d+)(?: key: (.*?))?(?: payload: (.*))?$")
CODEC = re.compile(r"compresscodec: (\w+)")
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
    codec: str
    leader_epoch: int = -1
    marker: str = ""
    legacy: bool = False    # a message of format 0 or 1, or its wrapper
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


def logs(folders, topics):
    """The segments of some topics; none of directories that are being moved or deleted."""
    return sorted(p for folder in folders for p in folder.glob("*/*.log") if p.parent.name.rpartition("-")[0] in topics)


def dump(release, files):
    """The lines of a release's own dump tool, those of each file behind a line `FILE path`."""
    names = "".join(f"{p}\n" for p in files)
    done = subprocess.run(jars.java(release, "Dump", releases.dump_tool(release)), input=names, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the dump tool of {release} failed: {done.stderr[-1000:]}")
    return done.stdout.splitlines()


def read(release, files):
    """The batches by partition and offset; outcomes of transactions filled in. The dump tool of the
    broker's own release has to find the same records as the newest."""
    lines = dump(releases.NEWEST_DUMP, files)
    if release != releases.NEWEST_DUMP:
        compare(release, offsets(dump(release, files)), offsets(lines))
    batches, topic, partition = [], None, None
    for line in lines:
        if line.startswith("FILE "):
            topic, _, number = line.split("/")[-2].rpartition("-")
            partition = int(number)
        elif m := BATCH.match(line):
            base, _, count, first, last, pid, epoch, leader_epoch = (int(n) for n in m.groups()[:8])
            batches.append(Batch(topic, partition, base, count, first, last, pid, epoch, m[9] == "true", m[10] == "true", codec(line), leader_epoch))
        elif m := LEGACY_BATCH.match(line):
            batches.append(Batch(topic, partition, int(m[1]), 1, -1, -1, -1, -1, False, False, codec(line), legacy=True))
        elif m := MARKER.match(line):
            batches[-1].marker = m[2]
        elif m := RECORD.match(line):
            key = None if m[3] == "-1" else m[6] or ""
            value = None if m[4] == "-1" else m[7] or ""
            batches[-1].records.append(Record(batches[-1], int(m[1]), int(m[5] or -1), key, value))
    batches.sort(key=lambda b: (b.topic, b.partition, b.base_offset))
    outcomes(batches)
    return batches


def codec(line):
    return CODEC.search(line)[1].lower()


def offsets(lines):
    """{file: offsets of its records}, whatever the release of the dump tool."""
    found, file = {}, None
    for line in lines:
        if line.startswith("FILE "):
            file = line[5:]
            found[file] = []
        elif m := re.match(r"(?:\| )?offset: (\d+) .*key ?size", line, re.IGNORECASE):
            found[file].append(int(m[1]))
    return found


def compare(release, own, newest):
    for file in newest:
        if own.get(file) != newest[file]:
            raise RuntimeError(f"{file}: the dump tool of {release} finds {len(own.get(file, []))} records, that of {releases.NEWEST_DUMP} {len(newest[file])}")


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
