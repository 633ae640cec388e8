"""An idempotent librdkafka producer loses the answers of four messages and gives them up; the application
sends them again through the same producer, which has begun a new epoch.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-same-session": 4}


def run(lab):
    lab.start()
    lab.topic("orders")
    app = lab.producer("A", client="confluent", proxied=True, enable_idempotence="true", linger_ms="5", message_timeout_ms="2500", socket_timeout_ms="1200")
    app.send("orders", orders(1, 20), mode="batch")
    lab.proxy.silent = True
    app.send("orders", orders(21, 24), mode="later")
    app.results()
    lab.proxy.cut()
    lab.proxy.silent = False
    time.sleep(1)
    app.send("orders", orders(21, 24), mode="batch")
    app.send("orders", orders(25, 40), mode="batch")
    app.close()
    lab.stop()
    lab.leave()
