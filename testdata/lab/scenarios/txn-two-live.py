"""Two transactional services with transactional.ids of their own write the same orders at the same time;
half of the first one's transactions are aborted and not tried again.
"""
from harness.laboratory import orders


def run(lab):
    lab.start()
    lab.topic("orders")
    one = lab.producer("A", transactional_id="billing-1")
    two = lab.producer("B", transactional_id="billing-2")
    for n in range(1, 41, 5):
        one.begin()
        two.begin()
        one.send("orders", orders(n, n + 4), mode="batch")
        two.send("orders", orders(n, n + 4), mode="batch")
        one.commit() if n % 2 else one.abort()
        two.commit()
    one.close()
    two.close()
    lab.stop()
    lab.leave()
