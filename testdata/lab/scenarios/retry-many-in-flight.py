"""Without idempotence and with twenty requests in flight, one record each, the answers of eighteen are lost
with the connection: the client stores all eighteen again. A real retry that is longer than defaults allow.
"""
import time

from harness.laboratory import orders

COPIES = {"retry-without-idempotence": (6, 40)}


def run(lab):
    lab.start()
    lab.topic("orders")
    app = lab.producer("A", proxied=True, enable_idempotence="false", linger_ms=0, retry_backoff_ms=100, max_in_flight_requests_per_connection=20)
    app.send("orders", orders(1, 20))
    lab.proxy.silent = True
    app.send("orders", orders(21, 38), mode="later", pause=15)
    time.sleep(1)
    lab.proxy.cut()
    lab.proxy.silent = False
    app.results()
    app.send("orders", orders(39, 50))
    app.close()
    lab.also["retry-without-idempotence"] = ["undetermined"]
    lab.stop()
    lab.leave()
