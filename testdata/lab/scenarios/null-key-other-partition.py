"""Null keys and six partitions: a restart sends 20 events again and most of them land in another
partition. The event's id is in the value.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def keyless(first, last):
    return [{"value": r["value"]} for r in orders(first, last)]


def run(lab):
    lab.business_key = "json:/orderId"
    lab.start()
    lab.topic("orders", 6)
    first = lab.producer("A", own=True, linger_ms=5, batch_size=300)
    for n in range(1, 61, 5):
        first.send("orders", keyless(n, n + 4), mode="batch")
    first.kill()
    second = lab.producer("B", own=True, linger_ms=5, batch_size=300)
    for n in range(41, 81, 5):
        second.send("orders", keyless(n, n + 4), mode="batch")
    second.close()
    lab.stop()
    lab.leave()
