"""An importer without idempotence stamps every record with the time of its event and sends one at a time.
It is killed, and restarts 20 orders too early: the copies have the same bytes and the same times as a
client's retry would have.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def run(lab):
    now = int(time.time() * 1000)
    events = [{**r, "time": now - 3_600_000 + 1000 * n} for n, r in enumerate(orders(1, 80))]
    settings = {"enable_idempotence": "false", "linger_ms": 0}
    lab.start()
    lab.topic("orders")
    first = lab.producer("A", own=True, **settings)
    first.send("orders", events[:60])
    first.kill()
    second = lab.producer("B", own=True, **settings)
    second.send("orders", events[40:])
    second.close()
    lab.not_certain = True
    lab.stop()
    lab.leave()
