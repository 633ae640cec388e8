"""An importer writes 60 orders, stops for 26 hours (client times say so) and its successor begins 20
orders too early. A second topic saw the same pause without an overlap.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def run(lab):
    lab.start()
    lab.topic("orders")
    lab.topic("calm")
    yesterday = int(time.time() * 1000) - 26 * 3_600_000
    at = lambda records, begin: [{**r, "time": begin + 50 * n} for n, r in enumerate(records)]
    first = lab.producer("A")
    first.send("orders", at(orders(1, 60), yesterday))
    first.send("calm", at(orders(1, 30), yesterday))
    first.close()
    second = lab.producer("B")
    second.send("orders", orders(41, 80))
    second.send("calm", orders(31, 60))
    second.close()
    lab.stop()
    lab.leave()
