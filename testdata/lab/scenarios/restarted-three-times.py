"""A single application in a crash loop: every life begins 10 orders before the end of the one before;
the last two lives begin at the same order.
"""
from harness.laboratory import orders


def run(lab):
    lab.start()
    lab.topic("orders")
    for name, first, last in (("A", 1, 30), ("B", 21, 50), ("C", 41, 70), ("D", 41, 75)):
        life = lab.producer(name, own=True, linger_ms=5, batch_size=800)
        life.send("orders", orders(first, last), mode="batch")
        life.kill()
    lab.stop()
    lab.leave()
