"""A single application in a crash loop: every life begins 10 orders before the end of the one before;
the last two lives begin at the same order.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 50}


def run(lab):
    lab.start()
    lab.topic("orders")
    for name, first, last in (("A", 1, 30), ("B", 21, 50), ("C", 41, 70), ("D", 41, 75)):
        life = lab.producer(name, own=True, linger_ms=5, batch_size=800)
        life.send("orders", orders(first, last), mode="batch")
        life.kill()
    lab.stop()
    lab.leave()
