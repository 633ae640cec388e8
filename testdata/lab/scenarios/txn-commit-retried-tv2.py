"""The answer to a commit is late, the application takes it for lost and writes the whole transaction again
in the same session (protocol 2). Both are committed.
"""
from harness.laboratory import orders


def run(lab):
    lab.start(features=["transaction.version=2"])
    lab.topic("orders", 2)
    app = lab.producer("A", transactional_id="importer")
    for n in (1, 11, 11, 21, 31):
        app.begin()
        app.send("orders", orders(n, n + 9), mode="batch")
        app.commit()
    app.close()
    lab.stop()
    lab.leave()
