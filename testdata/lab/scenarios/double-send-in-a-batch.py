"""The application calls send() twice for every fifth order; both copies are in one batch. Without
idempotence the same happens in `plain`.
"""
from harness.laboratory import orders

COPIES = {"resend-same-session": 16}


def run(lab):
    lab.start()
    for topic, on in (("orders", "true"), ("plain", "false")):
        lab.topic(topic)
        app = lab.producer(f"app-{topic}", linger_ms=50, enable_idempotence=on)
        for n in range(1, 41, 10):
            records = orders(n, n + 9)
            app.send(topic, records[:5] + [records[4]] + records[5:] + [records[9]], mode="batch")
    lab.stop()
    lab.leave()
