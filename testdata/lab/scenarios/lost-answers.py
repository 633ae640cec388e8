"""A client without idempotence: the answers of up to six records are lost with the connection, and its
retries are stored again, perhaps in batches of other sizes.
"""
import time

from harness import clients
from harness.laboratory import orders

COPIES = {"retry-without-idempotence": (1, 6)}
RUNS = [{"client": client} for client in clients.LIBRARIES] + [{"client": "java", "kafka": release} for release in ("0.10.2.2", "1.1.1", "2.3.1", "3.7.2")]


def run(lab, client):
    lab.start()
    lab.topic("orders")
    app = lab.producer("A", client=client, own=True, proxied=True, enable_idempotence="false", linger_ms="5", retries="10")
    app.send("orders", orders(1, 20), mode="batch")
    lab.proxy.silent = True
    for n in range(21, 27, 2):
        app.send("orders", orders(n, n + 1), mode="later")
        time.sleep(0.05)
    time.sleep(1)
    lab.proxy.cut()
    lab.proxy.silent = False
    app.results()
    app.send("orders", orders(27, 50), mode="batch")
    app.close()
    lab.also["retry-without-idempotence"] = ["undetermined"]
    lab.stop()
    lab.leave()
