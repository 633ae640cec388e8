"""A service without idempotence writes every order to `orders` and to `audit` with the event's own time,
one record a request. The answers for three orders are lost, and the client stores them again in
`orders` alone: a plain retry, no pipeline.
"""
import time

from harness.laboratory import orders

COPIES = {"retry-without-idempotence": (1, 10)}


def run(lab):
    now = int(time.time() * 1000)
    events = [{**r, "time": now - 60_000 + 100 * n} for n, r in enumerate(orders(1, 40))]
    lab.start()
    lab.topic("orders")
    lab.topic("audit")
    app = lab.producer("A", proxied=True, enable_idempotence="false", linger_ms=0, retry_backoff_ms=100)
    app.send("orders", events[:20])
    app.send("audit", events)
    lab.proxy.silent = True
    app.send("orders", events[20:23], mode="later", pause=30)
    time.sleep(1.5)
    lab.proxy.cut()
    lab.proxy.silent = False
    app.results()
    app.send("orders", events[23:])
    app.close()
    lab.also["retry-without-idempotence"] = ["undetermined"]
    lab.stop()
    lab.leave()
