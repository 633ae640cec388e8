"""As deploy-unprotected-event-times, without keys over six partitions: most copies land in another partition
and nothing but who wrote where tells which came first.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def run(lab):
    lab.business_key = "json:/orderId"
    now = int(time.time() * 1000)
    events = [{"value": r["value"], "time": now - 60_000 + 100 * n} for n, r in enumerate(orders(1, 90))]
    lab.start()
    lab.topic("orders", 6)
    for name, begin, end, settings in (("v1", 0, 60, {}), ("v2", 40, 90, {"acks": "1"})):
        app = lab.producer(name, own=True, linger_ms=5, batch_size=300, **settings)
        for n in range(begin, end, 4):
            app.send("orders", events[n:min(n + 4, end)], mode="batch")
        app.kill()
    lab.also["resend-new-session"] = ["undetermined"]
    lab.any_order = True
    lab.stop()
    lab.leave()
