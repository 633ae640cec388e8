"""Null keys, six partitions, and record times that are the events' own. A restart sends 20 events again,
with the same times; most land in another partition, so nothing but the sessions tells which came first.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def run(lab):
    lab.business_key = "json:/orderId"
    now = int(time.time() * 1000)
    events = [{"value": r["value"], "time": now - 60_000 + 100 * n} for n, r in enumerate(orders(1, 80))]
    lab.start()
    lab.topic("orders", 6)
    first = lab.producer("A", own=True, linger_ms=5, batch_size=300)
    for n in range(0, 60, 4):
        first.send("orders", events[n:n + 4], mode="batch")
    first.kill()
    second = lab.producer("B", own=True, linger_ms=5, batch_size=300)
    for n in range(40, 80, 4):
        second.send("orders", events[n:n + 4], mode="batch")
    second.close()
    lab.stop()
    lab.leave()
