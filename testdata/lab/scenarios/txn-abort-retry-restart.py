"""Two mechanisms on one key: a batch of orders is aborted and written again in the same
session, and after a kill the successor writes half of them once more.
"""
from harness.laboratory import orders

COPIES = {"aborted-then-retried": 10, "resend-new-session": 5}
RUNS = [{"protocol": 1}, {"protocol": 2}, {"kafka": "1.1.1"}, {"kafka": "3.7.2"}]


def run(lab, protocol=2):
    lab.start(protocol=protocol)
    lab.topic("orders")
    first = lab.producer("A", own=True, transactional_id="importer")
    first.begin()
    first.send("orders", orders(1, 10), mode="batch")
    first.abort()
    first.begin()
    first.send("orders", orders(1, 10), mode="batch")
    first.commit()
    first.kill()
    second = lab.producer("B", own=True, transactional_id="importer")
    second.begin()
    second.send("orders", orders(6, 15), mode="batch")
    second.commit()
    second.close()
    lab.stop()
    lab.leave()
