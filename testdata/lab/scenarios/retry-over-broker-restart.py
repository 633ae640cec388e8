"""acks=1, no idempotence, ten requests in flight: their answers are lost, the broker is restarted, and
the client sends them again to its next life. A release that counts the restart stores them under another
leader epoch.
"""
import time

from harness.laboratory import orders

COPIES = {"retry-without-idempotence": (1, 12)}
RUNS = [{}, {"kafka": "1.1.1"}]


def run(lab):
    lab.start()
    lab.topic("orders", 2)
    app = lab.producer("A", own=True, proxied=True, enable_idempotence="false", acks="1", retries="10", max_in_flight_requests_per_connection=10, linger_ms=0, retry_backoff_ms=200)
    app.send("orders", orders(1, 30), mode="batch")
    lab.proxy.silent = True
    app.send("orders", orders(31, 42), mode="later", pause=40)
    time.sleep(1.5)
    lab.broker.stop()
    lab.proxy.cut()
    lab.proxy.silent = False
    lab.start()
    app.results()
    app.send("orders", orders(43, 60), mode="batch")
    app.close()
    lab.stop()
    lab.leave()
