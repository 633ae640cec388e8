"""The same loop with transactions that hold its offsets: killed in mid-transaction, its successor with
the same transactional.id does the round again. Nothing is visible twice for read_committed.
"""
import json

from harness.laboratory import orders

COPIES = {"aborted-then-retried": 10}


def bill(row):
    return {"key": row[3], "value": json.dumps({"bill": row[3], "total": json.loads(row[4])["amount"]})}


def run(lab):
    lab.start()
    lab.topic("orders")
    lab.topic("bills")
    lab.producer("source").send("orders", orders(1, 40), mode="batch")
    for name in ("A", "B"):
        life = lab.producer(name, own=True, transactional_id="billing")
        lab.consumer("billing-service", ["orders"], life.application, session_timeout_ms=6000, heartbeat_interval_ms=2000)
        rounds = 0
        while rows := lab.poll("billing-service", 10, life.application, wait=30_000 if not rounds else 2500):
            life.begin()
            life.send("bills", [bill(r) for r in rows], mode="batch")
            rounds += 1
            if name == "A" and rounds == 3:
                break
            lab.commit_in_transaction(life, "billing-service", [["orders", 0, rows[-1][2] + 1]])
        life.kill()
    lab.stop()
    lab.leave()
