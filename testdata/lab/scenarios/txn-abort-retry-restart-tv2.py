"""Two mechanisms on one key (protocol 2): a batch of orders is aborted and written again in the same
session, and after a kill the successor writes half of them once more.
"""
from harness.laboratory import orders


def run(lab):
    lab.start(features=["transaction.version=2"])
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
