"""Five orders are stored and their answers lost; the broker stops in good order, somebody removes the
producer snapshots, and the broker that starts again knows no producer: the client's retry is stored a
second time. In `calm` an idempotent producer simply goes on.
"""
import time

from harness.laboratory import orders

COPIES = {"broker-dedup-lost": 5}
RUNS = [{}, {"kafka": "2.8.2"}]


def run(lab):
    lab.start()
    lab.topic("orders")
    lab.topic("calm")
    app = lab.producer("A", own=True, proxied=True, linger_ms=20, request_timeout_ms=60_000, delivery_timeout_ms=300_000)
    calm = lab.producer("calm", own=True)
    app.send("orders", orders(1, 20), mode="batch")
    calm.send("calm", orders(1, 20), mode="batch")
    lab.proxy.silent = True
    app.send("orders", orders(21, 25), mode="later")
    time.sleep(2)
    lab.broker.stop()
    for snapshot in lab.broker.data.glob("*/*.snapshot"):
        snapshot.unlink()
    lab.proxy.cut()
    lab.proxy.silent = False
    lab.start()
    app.results()
    app.send("orders", orders(26, 40), mode="batch")
    calm.send("calm", orders(21, 40), mode="batch")
    lab.truth["mayReport"] = ["snapshot-mismatch"]
    lab.stop()
    lab.leave()
