"""A new version is deployed that switched idempotence off (acks=1) and begins 20 orders too early; records
carry the events' times. The old version is gone by then.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def run(lab):
    now = int(time.time() * 1000)
    events = [{**r, "time": now - 60_000 + 100 * n} for n, r in enumerate(orders(1, 90))]
    lab.start()
    lab.topic("orders", 2)
    first = lab.producer("v1", own=True, linger_ms=5, batch_size=500)
    first.send("orders", events[:60], mode="batch")
    first.kill()
    second = lab.producer("v2", own=True, acks="1", linger_ms=5, batch_size=500)
    second.send("orders", events[40:], mode="batch")
    second.close()
    lab.truth["mustReport"] = ["idempotence-lost"]
    lab.stop()
    lab.leave()
