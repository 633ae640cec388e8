"""The network goes silent after the broker stored five orders. The producer gives up at its delivery
timeout, the application sends the five again through the same producer object, with new times.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-same-session": (1, 10)}


def run(lab):
    lab.start()
    lab.topic("orders")
    app = lab.producer("A", proxied=True, request_timeout_ms=800, delivery_timeout_ms=1600, retry_backoff_ms=50, linger_ms=0)
    app.send("orders", orders(1, 20))
    lab.proxy.silent = True
    app.send("orders", orders(21, 25), mode="later")
    app.results()
    lab.proxy.cut()
    lab.proxy.silent = False
    time.sleep(1)
    app.send("orders", orders(21, 25))
    app.send("orders", orders(26, 40))
    app.close()
    lab.stop()
    lab.leave()
