"""Two instances are started at the same moment and write the same 48 orders, keyed over six partitions,
turn by turn. In `shared` two instances divide the orders properly.
"""
from harness.laboratory import orders

COPIES = {"concurrent-producers": 48}


def run(lab):
    lab.start()
    lab.topic("orders", 6)
    lab.topic("shared", 6)
    one = lab.producer("A", own=True)
    two = lab.producer("B", own=True)
    for n in range(1, 49, 4):
        one.send("orders", orders(n, n + 3))
        two.send("orders", orders(n, n + 3))
        (one if n % 8 == 1 else two).send("shared", orders(1000 + n, 1003 + n))
    one.close()
    two.close()
    lab.stop()
    lab.leave()
