"""A producer has one success for each of nine values, and the log has each of them twice: the answers were lost, the
broker stopped in good order, somebody removed the producer snapshots, and the broker that started again took an empty
one. The client sent the batch again under its old sequences.
"""
import time

from harness.laboratory import orders

COPIES = {"broker-dedup-lost": 9}


def run(lab):
    lab.start()
    lab.topic("values")
    app = lab.producer("A", own=True, proxied=True, linger_ms=100, request_timeout_ms=60_000, delivery_timeout_ms=300_000)
    app.send("values", orders(1, 40), mode="batch")
    lab.proxy.silent = True
    app.send("values", orders(41, 49), mode="later")
    time.sleep(2)
    lab.broker.stop()
    for snapshot in lab.broker.data.glob("*/*.snapshot"):
        snapshot.unlink()
    lab.proxy.cut()
    lab.proxy.silent = False
    lab.start()
    app.results()
    app.send("values", orders(50, 60), mode="batch")
    lab.truth["mayReport"] = ["snapshot-mismatch"]
    lab.stop()
    lab.leave()
