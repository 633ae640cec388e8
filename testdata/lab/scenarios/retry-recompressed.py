"""LogAppendTime and a topic-level codec: the broker writes every batch anew. A producer without
idempotence retries three requests whose answers were cut off; a second topic had the same cut with
idempotence on.
"""
import time

from harness.laboratory import orders

COPIES = {"retry-without-idempotence": 15}


def run(lab):
    lab.start()
    for topic, on in (("orders", "false"), ("calm", "true")):
        lab.topic(topic, message_timestamp_type="LogAppendTime", compression_type="gzip")
        app = lab.producer(f"app-{topic}", proxied=True, enable_idempotence=on, acks="all", linger_ms=20, batch_size=500, retry_backoff_ms=100)
        app.send(topic, orders(1, 20), mode="batch")
        lab.proxy.silent = True
        app.send(topic, orders(21, 35), mode="later", pause=3)
        time.sleep(1.5)
        lab.proxy.cut()
        lab.proxy.silent = False
        app.results()
        app.send(topic, orders(36, 50), mode="batch")
        app.close()
    lab.stop()
    lab.leave()
