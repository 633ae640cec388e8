"""As restart-event-times-unprotected, but only four orders come again: no more than a client may have under
way. Nothing in the files tells this from a retry.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-new-session": 4}


def run(lab):
    now = int(time.time() * 1000)
    events = [{**r, "time": now - 3_600_000 + 1000 * n} for n, r in enumerate(orders(1, 60))]
    lab.start()
    lab.topic("orders")
    for name, part in (("A", events[:40]), ("B", events[36:])):
        life = lab.producer(name, own=True, enable_idempotence="false", linger_ms=0)
        life.send("orders", part)
        life.kill()
    lab.also["resend-new-session"] = ["retry-without-idempotence"]
    lab.not_certain = True
    lab.stop()
    lab.leave()
