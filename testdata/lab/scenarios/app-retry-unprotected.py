"""No idempotence and retries=0: the answers of five sends are lost, the application sends the five again
itself. Then the process is restarted and sends the last ten once more.
"""
import time

from harness.laboratory import orders

COPIES = {"resend-same-session": 5, "resend-new-session": 10}


def run(lab):
    lab.start()
    lab.topic("orders")
    settings = {"enable_idempotence": "false", "retries": "0", "acks": "1", "linger_ms": "0", "request_timeout_ms": "800", "delivery_timeout_ms": "1000"}
    app = lab.producer("A", own=True, proxied=True, **settings)
    app.send("orders", orders(1, 20))
    lab.proxy.silent = True
    app.send("orders", orders(21, 25), mode="later", pause=20)
    app.results()
    lab.proxy.cut()
    lab.proxy.silent = False
    time.sleep(1)
    app.send("orders", orders(21, 30))
    app.kill()
    next_life = lab.producer("B", own=True, **settings)
    next_life.send("orders", orders(21, 40))
    next_life.close()
    lab.not_certain = True
    lab.stop()
    lab.leave()
