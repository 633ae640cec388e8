"""A service with one producer object for `orders` and another for `audit`, event times in both. Only the
first is restarted and begins 20 orders too early. No pipeline copies one topic into the other, but the
files look as if one did.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def run(lab):
    now = int(time.time() * 1000)
    events = [{**r, "time": now - 60_000 + 100 * n} for n, r in enumerate(orders(1, 80))]
    lab.start()
    lab.topic("orders")
    lab.topic("audit")
    lab.producer("audit", linger_ms=5).send("audit", events, mode="batch")
    for name, part in (("A", events[:60]), ("B", events[40:])):
        app = lab.producer(name, own=True, linger_ms=5, batch_size=500)
        app.send("orders", part, mode="batch")
        app.kill()
    lab.also["resend-new-session"] = ["pipeline-replay"]
    lab.not_certain = True
    lab.stop()
    lab.leave()
