"""Scans while the broker writes, rolls, compacts, deletes, truncates, restarts and dies: nobody stored anything
twice, so whatever accuses somebody is wrong, and so is an exit status other than the documented one.
"""
import json
import signal
import struct
import subprocess
import threading
import time

from . import verdict
from .laboratory import Laboratory, orders

SETTINGS = {
    "log.cleaner.backoff.ms": 300, "log.initial.task.delay.ms": 300, "log.retention.check.interval.ms": 1000,
    "log.segment.delete.delay.ms": 500, "log.flush.offset.checkpoint.interval.ms": 1000, "log.flush.start.offset.checkpoint.interval.ms": 1000,
}
TOPICS = {
    "orders": {"segment_bytes": "20000"},
    "short": {"segment_bytes": "8000", "retention_bytes": "20000"},
    "table": {"segment_bytes": "6000", "cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01"},
    "payments": {"segment_bytes": "20000"},
    "plain": {"segment_bytes": "20000"},
}
# What is true, of which topic alone: transactions run there, the writer has no producer id, keys are accounts.
TRUE_FINDINGS = {"transaction-open": "payments", "idempotence-off": "plain", "same-key-update": "table"}
LOUD = {"low", "medium", "high"}


class Activity(threading.Thread):
    """What goes on while others look; each application belongs to this thread alone."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.lab, self.ended, self.steps, self.restarts, self.kills, self.torn, self.failure = lab, threading.Event(), 0, 0, 0, 0, None
        self.apps = {
            "orders": lab.producer("orders", own=True, linger_ms=2), "short": lab.producer("short", own=True),
            "table": lab.producer("table", own=True), "payments": lab.producer("payments", own=True, transactional_id="payments"),
            "plain": lab.producer("plain", own=True, enable_idempotence="false", retries="0"),
        }

    def run(self):
        try:
            while not self.ended.is_set():
                self.step()
        except Exception as failure:
            self.failure = failure

    def step(self):
        self.steps += 1
        first = self.steps * 20
        new = orders(first, first + 19)
        for topic in ("orders", "short", "plain"):
            self.apps[topic].send(topic, new, mode="batch")
        self.apps["table"].send("table", [{"key": f"account-{n % 30}", "value": f"balance {first + n}"} for n in range(20)], mode="batch")
        payments = self.apps["payments"]
        payments.begin()
        payments.send("payments", new, mode="batch")
        payments.abort() if self.steps % 5 == 0 else payments.commit()
        if self.steps % 15 == 0:
            self.lab.administrate("delete-records", "orders", partition=0, before=(self.steps - 10) * 20)
        if self.steps % 10 == 0:
            by = signal.SIGKILL if self.steps % 20 == 0 else signal.SIGTERM
            self.kills, self.restarts = self.kills + (by == signal.SIGKILL), self.restarts + 1
            self.lab.broker.stop(by)
            if by == signal.SIGKILL:
                self.torn += tear(self.lab.broker.data / "orders-0")
            self.lab.start()


def tear(directory):
    """Half a batch at the end of a log, as a machine leaves it that loses its power: the broker that starts cuts
    it off. Says how many logs were torn."""
    segment, position, batch = max(directory.glob("*.log")), 0, b""
    data = segment.read_bytes()
    while position + 61 <= len(data):
        length = 12 + struct.unpack_from(">i", data, position + 8)[0]
        batch, position = data[position:position + length], position + length
    if not batch:
        return 0
    next_offset = struct.unpack_from(">q", batch)[0] + struct.unpack_from(">i", batch, 23)[0] + 1
    with segment.open("ab") as file:
        file.write(struct.pack(">q", next_offset) + batch[8:len(batch) // 2])
    return 1


def wrong(status, output):
    """What is wrong with the answer of one scan."""
    if status not in (0, 1, 3):
        return [f"exit status {status}"]
    report = json.loads(output)
    findings = report["findings"]
    loud, complete = any(f["severity"] in LOUD for f in findings), report["verdict"]["complete"]
    bad = [f"{f['code']}: {f['title']}" for f in findings if f["severity"] in LOUD and f["topics"] != [TRUE_FINDINGS.get(f["code"])]]
    # A file that the broker took away while it was read is a fact, and keeps the audit incomplete.
    bad += [f"damage {d['file']} at {d['position']}: {d['detail']}" for d in report["coverage"]["damage"] if not d["expected"] and d["kind"] != "unreadable"]
    documented = 1 if loud else 0 if complete else 3
    if status != documented:
        bad.append(f"exit status {status}, documented is {documented}")
    return bad


def was_idle(lab, activity):
    """What did not happen and should have while these scans looked, or ""."""
    def stored(topic):
        return lab.main.tell(do="read", topics=[topic], settings=lab.server())["records"]
    happened = {
        "a restart": activity.restarts, "a death of the broker": activity.kills, "a torn log": activity.torn,
        "DeleteRecords": stored("orders")[0][2], "retention": stored("short")[0][2],
        "compaction": sum(s.topic == "table" for s in lab.sends) - len(stored("table")),
    }
    return ", ".join(what for what, count in happened.items() if count <= 0)


def run(out, release, rounds):
    """Scans `rounds` times; 0 when every answer was right. Wrong ones stay in `out`."""
    tool = verdict.tool()
    out.mkdir(parents=True, exist_ok=True)
    lab = Laboratory("live", __doc__, release, out)
    statuses, failed = {}, 0
    try:
        lab.start(settings=SETTINGS)
        for topic, settings in TOPICS.items():
            lab.topic(topic, **settings)
        activity = Activity(lab)
        activity.start()
        for number in range(1, rounds + 1):
            scan = subprocess.run([tool, "scan", lab.broker.data, "--format", "json"], capture_output=True, text=True)
            statuses[scan.returncode] = statuses.get(scan.returncode, 0) + 1
            bad = wrong(scan.returncode, scan.stdout)
            if bad:
                failed += 1
                (out / f"live-{number}.json").write_text(scan.stdout)
                (out / f"live-{number}.err").write_text(scan.stderr)
                print(f"scan {number}: {'; '.join(bad)[:400]}", flush=True)
            while activity.steps < number // 2:     # something happens between any two looks but one
                if activity.failure:
                    raise activity.failure
                time.sleep(0.05)
        activity.ended.set()
        activity.join(120)
        if activity.failure:
            raise activity.failure
        if activity.is_alive():
            raise RuntimeError("the broker did not come to an end")
        if rounds >= 100 and (missing := was_idle(lab, activity)):
            raise RuntimeError(f"the broker was not busy enough for these scans to tell anything: without {missing}")
        print(f"{rounds} scans while {activity.steps * 100} records were written, the broker restarted {activity.restarts} times, {activity.kills} of them killed, {activity.torn} with a torn log that was cut; "
              f"exit statuses {dict(sorted(statuses.items()))}; {failed} wrong answers")
        return 1 if failed else 0
    finally:
        lab.end()
