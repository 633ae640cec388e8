"""A service writes 200 orders; a re-drive job that runs all the time publishes every twentieth again after
its consumer failed: the job never writes an order first and never one that is not a copy.
"""
from harness.laboratory import orders

COPIES = {"concurrent-producers": 9}


def run(lab):
    lab.start()
    lab.topic("orders")
    service = lab.producer("service", own=True)
    job = lab.producer("re-drive", own=True)
    for n in range(1, 201, 20):
        service.send("orders", orders(n, n + 19), mode="batch")
        if n > 20:
            job.send("orders", orders(n - 15, n - 15))
    lab.stop()
    lab.leave()
