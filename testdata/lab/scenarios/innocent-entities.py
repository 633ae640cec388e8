"""Nothing is wrong here: records whose key is an entity and whose events look alike. Sensors report the same
few temperatures with a running time, customers pay equal amounts under payment ids of their own, users
view the same page again under an event id of its own. The writers are restarted in between.
"""
import json
import time
import uuid


def run(lab):
    lab.start()
    for topic in ("sensors", "payments", "views"):
        lab.topic(topic)
    begin = int(time.time() * 1000) - 600_000
    for life in range(2):
        app = lab.producer(f"life-{life}", own=True)
        for n in range(life * 25, life * 25 + 25):
            app.send("sensors", [{"key": f"sensor-{s}", "value": json.dumps({"sensor": s, "temperature": 20 + (n // 7 + s) % 3 / 2, "at": begin + 5000 * n + s})}
                                 for s in range(1, 9)], mode="batch")
            app.send("payments", [{"key": f"customer-{c}", "value": json.dumps({"paymentId": str(uuid.uuid4()), "customer": c, "amount": "9.99", "currency": "EUR"})}
                                  for c in range(1, 9)], mode="batch")
            app.send("views", [{"key": f"user-{u}", "value": json.dumps({"eventId": f"ev-{n * 8 + u:06}", "user": u, "type": "viewed", "page": "/home"})}
                               for u in range(1, 9)], mode="batch")
        app.close()
    lab.stop()
    lab.leave()
