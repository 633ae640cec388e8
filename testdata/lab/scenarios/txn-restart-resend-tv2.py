"""A transactional importer commits orders 1 to 40 and is killed; its successor with the same
transactional.id begins at order 31 again (protocol 2). In topic `calm` the restart has no overlap.
"""
from harness.laboratory import orders


def run(lab):
    lab.start(features=["transaction.version=2"])
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
    lab.also["resend-new-session"] = ["epoch-bump-resend"] if 2 == 1 else []
    lab.stop()
    lab.leave()
