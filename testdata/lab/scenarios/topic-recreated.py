"""A topic is deleted and created again under its name, and the importer fills it from the beginning: no
order is stored twice, although the old directory may still be there, waiting to be deleted.
"""
from harness.laboratory import orders

RUNS = [{}, {"kafka": "2.3.1"}]


def run(lab):
    lab.start()
    lab.topic("orders", 2)
    first = lab.producer("A", own=True)
    first.send("orders", orders(1, 40), mode="batch")
    first.kill()
    lab.recreate_topic("orders", 2)
    second = lab.producer("B", own=True)
    second.send("orders", orders(1, 60), mode="batch")
    second.close()
    lab.stop()
    lab.leave()
