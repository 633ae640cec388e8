"""Without idempotence twenty orders in one batch are stored and their answer is lost; the broker is restarted, and
the client stores the batch again under the next leader epoch. In `regrouped` the same twenty events came again in two
batches, with the times of the events. A day later one order is written once more in `plain`: perhaps another event.
"""
import time

from harness.laboratory import orders

COPIES = {"retry-without-idempotence": 20, "resend-same-session": 21}
DAY = 24 * 3600 * 1000


def run(lab):
    begin = int(time.time() * 1000) - DAY - 60_000
    events = [{**r, "time": begin + 10 * n} for n, r in enumerate(orders(1, 20))]
    lab.start()
    lab.topic("plain")
    lab.topic("regrouped")
    app = lab.producer("A", own=True, proxied=True, enable_idempotence="false", acks="1", retries="10", linger_ms=100, retry_backoff_ms=200)
    pipe = lab.producer("B", own=True, enable_idempotence="false", linger_ms=100)
    app.send("plain", [{**r, "time": begin - 1000 + n} for n, r in enumerate(orders(101, 105))], mode="batch")
    pipe.send("regrouped", events, mode="batch")
    lab.proxy.silent = True
    app.send("plain", events, mode="later")
    time.sleep(2)
    lab.broker.stop()
    lab.proxy.cut()
    lab.proxy.silent = False
    lab.start()
    app.results()
    pipe.send("regrouped", events[:10], mode="batch", same_event=True)
    pipe.send("regrouped", events[10:], mode="batch", same_event=True)
    app.send("plain", [{**events[7], "time": begin + DAY}], mode="batch")
    # No producer id: the files cannot tell who sent these again, and the lone one may be an event of its own.
    lab.also["resend-same-session"] = ["undetermined", "same-key-update"]
    lab.stop()
    lab.leave()
