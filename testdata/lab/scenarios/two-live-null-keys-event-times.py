"""Two live instances write the same events without a key, with the events' own times, over six partitions.
Which of two copies in different partitions was first is in no file.
"""
import time

from harness.laboratory import orders

COPIES = {"concurrent-producers": 80}


def run(lab):
    lab.business_key = "json:/orderId"
    now = int(time.time() * 1000)
    events = [{"value": r["value"], "time": now - 60_000 + 100 * n} for n, r in enumerate(orders(1, 80))]
    lab.start()
    lab.topic("orders", 6)
    one = lab.producer("A", own=True, linger_ms=5, batch_size=300)
    two = lab.producer("B", own=True, linger_ms=5, batch_size=300)
    for n in range(0, 80, 4):
        one.send("orders", events[n:n + 4], mode="batch")
        two.send("orders", events[n:n + 4], mode="batch")
    lab.any_order = True
    lab.stop()
    lab.leave()
