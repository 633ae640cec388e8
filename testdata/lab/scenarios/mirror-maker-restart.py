"""MirrorMaker 2 copies `orders` to `east.orders`. A restart in good order repeats nothing; then it is killed
before it stored how far it came, and its next life copies the rest again.
"""
import signal

from harness.laboratory import orders

COPIES = {"pipeline-replay": 30}
RUNS = [{}, {"kafka": "3.7.2"}]


def run(lab):
    lab.start()
    lab.topic("orders")
    source = lab.producer("source", own=True, linger_ms=5)
    for first, last, how in ((1, 20, signal.SIGTERM), (21, 50, signal.SIGKILL), (51, 55, signal.SIGTERM)):
        source.send("orders", orders(first, last), mode="batch")
        before = lab.stored_records("east.orders")
        mirror = lab.mirror("orders", offset_flush_interval_ms=120_000)
        lab.wait_until("the mirror", lambda: lab.stored_records("east.orders") >= before + last - first + 1 and has(lab, last))
        mirror.stop(how)
    lab.truth["consumedTopics"] = ["orders", "east.orders"]
    lab.stop()
    lab.leave()


def has(lab, last):
    rows = lab.main.tell(do="read", topics=["east.orders"], settings=lab.server())["records"]
    return any(row[3] == f"order-{last:04}" for row in rows)
