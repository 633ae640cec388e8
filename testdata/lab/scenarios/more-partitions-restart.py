"""The importer is killed, the topic grows from two partitions to six, and the next life begins 20 orders
too early: most of the copies are stored in another partition than what they repeat, and no key is in a wrong one.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 20}
RUNS = [{}, {"kafka": "2.5.1"}]


def run(lab):
    lab.start()
    lab.topic("orders", 2)
    first = lab.producer("A", own=True)
    first.send("orders", orders(1, 60), mode="batch")
    first.kill()
    lab.administrate("more-partitions", "orders", count=6)
    second = lab.producer("B", own=True)
    second.send("orders", orders(41, 120), mode="batch")
    second.close()
    lab.stop()
    lab.leave()
