"""A protected service writes the orders; an old job that nobody switched off, without idempotence,
writes every third of them as well, a moment later.
"""
from harness.laboratory import orders

COPIES = {"concurrent-producers": 20}


def run(lab):
    lab.start()
    lab.topic("orders")
    old = lab.producer("old-job", own=True, enable_idempotence="false")
    service = lab.producer("service", own=True)
    for n in range(1, 61, 3):
        service.send("orders", orders(n, n + 2), mode="batch")
        old.send("orders", orders(n, n), mode="batch")
    lab.stop()
    lab.leave()
