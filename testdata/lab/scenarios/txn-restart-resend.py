"""A transactional importer commits orders 1 to 40 and is killed; its successor with the same
transactional.id begins at order 31 again. In topic `calm` the restart has no overlap.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 10}
RUNS = [{"protocol": 1}, {"protocol": 2}, {"kafka": "0.11.0.3"}, {"kafka": "2.8.2"}, {"kafka": "4.4.0", "protocol": 2}]


def run(lab, protocol=2):
    lab.start(protocol=protocol)
    lab.topic("orders")
    lab.topic("calm")
    first = lab.producer("A", own=True, transactional_id="importer")
    for n in (1, 21):
        first.begin()
        first.send("orders", orders(n, n + 19), mode="batch")
        first.send("calm", orders(n, n + 19), mode="batch")
        first.commit()
    first.kill()
    second = lab.producer("B", own=True, transactional_id="importer")
    second.begin()
    second.send("orders", orders(31, 50), mode="batch")
    second.send("calm", orders(41, 60), mode="batch")
    second.commit()
    second.begin()
    second.send("orders", orders(51, 55), mode="batch")
    second.commit()
    second.close()
    lab.stop()
    lab.leave()
