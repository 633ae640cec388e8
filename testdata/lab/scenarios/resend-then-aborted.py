"""A restarted transactional importer writes the last 20 orders again, notices it and aborts; then it goes on.
No reader of committed data sees an order twice.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 20}
RUNS = [{"protocol": 1}, {"protocol": 2}, {"kafka": "1.1.1"}]


def run(lab, protocol=2):
    lab.start(protocol=protocol)
    lab.topic("orders")
    first = lab.producer("A", own=True, transactional_id="importer")
    first.begin()
    first.send("orders", orders(1, 40), mode="batch")
    first.commit()
    first.kill()
    second = lab.producer("B", own=True, transactional_id="importer")
    second.begin()
    second.send("orders", orders(21, 40), mode="batch")
    second.abort()
    second.begin()
    second.send("orders", orders(41, 60), mode="batch")
    second.commit()
    second.close()
    lab.stop()
    lab.leave()
