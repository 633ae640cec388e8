"""The answer to a commit is late, the application takes it for lost and writes the whole transaction again
in the same session. Both are committed.
"""
from harness.laboratory import orders

RUNS = [{"protocol": 1}, {"protocol": 2}, {"kafka": "2.5.1"}]


def run(lab, protocol=2):
    lab.start(protocol=protocol)
    lab.topic("orders", 2)
    app = lab.producer("A", transactional_id="importer")
    for n in (1, 11, 11, 21, 31):
        app.begin()
        app.send("orders", orders(n, n + 9), mode="batch")
        app.commit()
    app.close()
    lab.stop()
    lab.leave()
