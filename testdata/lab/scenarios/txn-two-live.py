"""Two transactional services with transactional.ids of their own write the same orders at the same time;
half of the first one's transactions are aborted and not tried again.
"""
from harness.laboratory import orders

COPIES = {"concurrent-producers": 20, "aborted-then-retried": 20}
RUNS = [{"protocol": 1}, {"protocol": 2}, {"kafka": "0.11.0.3"}]


def run(lab, protocol=2):
    lab.start(protocol=protocol)
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
