"""Without idempotence ten rows change ten times, a batch each. One batch goes behind the next one, as a batch does that
failed and was sent again while others were in flight; the answer of another one is lost, and it is stored again. In
`others` a block moves whose keys no other block has: no row is out of order there, only the times step back.
"""
import json
import time

COPIES = {"retry-without-idempotence": 10}


def change(begin, number, keys):
    at = begin + 1000 * number
    return [{"key": key, "value": json.dumps({"row": key, "version": number}), "time": at + n} for n, key in enumerate(keys)]


def run(lab):
    begin = int(time.time() * 1000) - 600_000
    rows = [f"row-{n}" for n in range(10)]
    lab.start()
    lab.topic("rows")
    lab.topic("others")
    app = lab.producer("A", own=True, proxied=True, enable_idempotence="false", acks="1", retries="10", linger_ms=50, retry_backoff_ms=200)
    for number in (0, 1, 2, 4, 3, 5, 6):
        app.send("rows", change(begin, number, rows), mode="batch")
    lab.proxy.silent = True
    app.send("rows", change(begin, 7, rows), mode="later")
    time.sleep(1.5)
    lab.proxy.cut()
    lab.proxy.silent = False
    app.results()
    for number in (8, 9):
        app.send("rows", change(begin, number, rows), mode="batch")
    order = [*range(60), 61, 60, *range(62, 120)]
    for number in order:
        app.send("others", change(begin, number, [f"key-{number}-{n}" for n in range(3)]), mode="batch")
    lab.truth["mustReport"] = ["order-broken"]
    lab.stop()
    lab.leave()
