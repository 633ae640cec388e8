"""A partition is moved from one log directory of its broker to the other while an importer is restarted from
an old position. With end=finished the move ends; with end=killed the broker is killed in the middle of it, and
one directory holds the partition, the other its unfinished future replica.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 30}
RUNS = [{"end": "finished"}, {"end": "killed"}]


def run(lab, end):
    lab.start(directories=2)
    lab.topic("orders", segment_bytes="20000")
    first = lab.producer("A", own=True, linger_ms=5)
    first.send("orders", orders(1, 200), mode="batch")
    first.kill()
    here = next(d for d in lab.broker.directories if (d / "orders-0").exists())
    there = next(d for d in lab.broker.directories if d != here)
    if end == "killed":
        lab.administrate("alter-config", "", broker="1", configs={"replica.alter.log.dirs.io.max.bytes.per.second": "1"})
    lab.administrate("move", "orders", partition=0, broker=1, directory=str(there))
    if end == "finished":
        lab.wait_until("the partition to be moved", lambda: (there / "orders-0").exists() and not (here / "orders-0").exists())
    else:
        lab.wait_until("the future replica", lambda: any(there.glob("orders-0*-future")))
    second = lab.producer("B", own=True, linger_ms=5)
    second.send("orders", orders(171, 240), mode="batch")
    second.close()
    lab.stop(kill=end == "killed")
    lab.leave()
