"""As resend-after-delivery-timeout, but the application stamps its records with the event's time, so
that its own resend has the same times as the client's rewriting at an epoch bump would have.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-same-session": 5}


def run(lab):
    now = int(time.time() * 1000)
    events = [{**r, "time": now - 60_000 + 100 * n} for n, r in enumerate(orders(1, 40))]
    lab.start()
    lab.topic("orders")
    app = lab.producer("A", proxied=True, request_timeout_ms=800, delivery_timeout_ms=1600, retry_backoff_ms=50, linger_ms=0)
    app.send("orders", events[:20])
    lab.proxy.silent = True
    app.send("orders", events[20:25], mode="later", pause=5)
    app.results()
    lab.proxy.cut()
    lab.proxy.silent = False
    time.sleep(1)
    app.send("orders", events[20:25])
    app.send("orders", events[25:])
    app.close()
    lab.not_certain = True
    lab.also["resend-same-session"] = ["epoch-bump-resend", "undetermined"]
    lab.stop()
    lab.leave()
