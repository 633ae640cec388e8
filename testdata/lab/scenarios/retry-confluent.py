"""Another client without idempotence: the answers of six records are lost with the connection, and its
retries are stored again, perhaps in batches of other sizes.
"""
import time

from harness.laboratory import orders


def run(lab):
    lab.start()
    lab.topic("orders")
    app = lab.producer("A", client="confluent", proxied=True, enable_idempotence="false", linger_ms="5")
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
