"""The broker forgets idempotent producers after two seconds of silence. One loses its answers for longer,
and its retry is stored a second time; another is silent for longer and goes on: nothing is missing.
"""
import time

from harness import releases
from harness.laboratory import orders

COPIES = {"broker-dedup-lost": 5}
RUNS = [{}, {"kafka": "3.7.2"}]


def run(lab):
    lab.start(settings=releases.producer_expiry(lab.release, 2000))
    lab.topic("orders")
    lab.topic("calm")
    app = lab.producer("A", own=True, proxied=True, linger_ms=20, request_timeout_ms=60_000)
    calm = lab.producer("calm", own=True)
    app.send("orders", orders(1, 20), mode="batch")
    calm.send("calm", orders(1, 20), mode="batch")
    lab.proxy.silent = True
    app.send("orders", orders(21, 25), mode="later")
    time.sleep(8)
    lab.proxy.cut()
    lab.proxy.silent = False
    app.results()
    app.send("orders", orders(26, 40), mode="batch")
    calm.send("calm", orders(21, 40), mode="batch")
    lab.stop()
    lab.leave()
