"""A consume-transform-produce loop without transactions crashes after it wrote its output and before it
committed its offsets; the next life reads and writes the same input again. The output has its own
times. `__consumer_offsets` is there. Topic `billing` was written by such a loop that never crashed.
"""
import json

from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def bill(row):
    return {"key": row[3], "value": json.dumps({"bill": row[3], "total": json.loads(row[4])["amount"]})}


def run(lab):
    lab.start()
    for topic in ("orders", "bills", "billing"):
        lab.topic(topic)
    source = lab.producer("source")
    source.send("orders", orders(1, 60), mode="batch")
    calm = lab.producer("calm")
    lab.consumer("calm", ["orders"])
    calm.send("billing", [bill(r) for r in lab.poll("calm", 60)], mode="batch")
    lab.commit_offsets("calm", [["orders", 0, 60]])
    for name, commits in (("A", 1), ("B", 9)):
        life = lab.producer(name, own=True)
        lab.consumer("billing-service", ["orders"], life.application, session_timeout_ms=6000, heartbeat_interval_ms=2000)
        rounds = 0
        while rows := lab.poll("billing-service", 10, life.application, wait=30_000 if not rounds else 2500):
            life.send("bills", [bill(r) for r in rows], mode="batch")
            if rounds < commits:
                lab.commit_offsets("billing-service", [["orders", 0, rows[-1][2] + 1]], life.application)
            rounds += 1
            if name == "A" and rounds == 3:
                break
        life.kill()
    lab.also["resend-new-session"] = ["pipeline-replay"]
    lab.stop()
    lab.leave()
