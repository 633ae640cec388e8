"""Every record carries when it was sent and a request id of its own. A restart sends 20 orders again: the
copies differ in these two fields and are the same orders all the same.
"""
import json
import time
import uuid

from harness.laboratory import orders

COPIES = {"resend-new-session": 20}


def stamped(first, last):
    out = []
    for r in orders(first, last):
        value = json.loads(r["value"]) | {"sentAt": int(time.time() * 1000), "requestId": str(uuid.uuid4())}
        out.append({"key": r["key"], "value": json.dumps(value)})
        time.sleep(0.003)
    return out


def run(lab):
    lab.start()
    lab.topic("orders")
    first = lab.producer("A", own=True)
    first.send("orders", stamped(1, 60), mode="batch")
    first.kill()
    second = lab.producer("B", own=True)
    second.send("orders", stamped(41, 80), mode="batch", same_event=True)
    second.close()
    lab.stop()
    lab.leave()
