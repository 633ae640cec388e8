"""A service writes every order to `orders` and to `audit`, with the event's own time. It is killed and
restarts from an older position: 20 orders come again in `orders`, but only 8 of them in `audit`, which
has a position of its own. No pipeline copies one topic into the other.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-new-session": 28}


def run(lab):
    now = int(time.time() * 1000)
    events = [{**r, "time": now - 60_000 + 100 * n} for n, r in enumerate(orders(1, 80))]
    lab.start()
    lab.topic("orders")
    lab.topic("audit")
    for name, of_orders, of_audit in (("A", events[:60], events[:60]), ("B", events[40:], events[52:])):
        app = lab.producer(name, own=True, linger_ms=5, batch_size=500)
        app.send("orders", of_orders, mode="batch")
        app.send("audit", of_audit, mode="batch")
        app.kill()
    lab.stop()
    lab.leave()
