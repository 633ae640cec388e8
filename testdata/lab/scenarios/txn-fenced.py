"""Instance A hangs with ten orders in an open transaction. Instance B takes over the transactional.id,
which aborts them, and writes the ten itself; A wakes up and cannot commit.
"""
from harness.laboratory import orders

COPIES = {"aborted-then-retried": 10}
RUNS = [{"protocol": 1}, {"protocol": 2}, {"kafka": "2.0.1"}]


def run(lab, protocol=2):
    lab.start(protocol=protocol)
    lab.topic("orders")
    first = lab.producer("A", own=True, transactional_id="importer")
    first.begin()
    first.send("orders", orders(1, 5), mode="batch")
    first.commit()
    first.begin()
    first.send("orders", orders(6, 15), mode="batch")
    second = lab.producer("B", own=True, transactional_id="importer")
    second.begin()
    second.send("orders", orders(6, 20), mode="batch")
    second.commit()
    assert "error" in first.commit(may_fail=True), "A has committed"
    second.close()
    lab.stop()
    lab.leave()
