"""Nothing is wrong here: records without a key. A service says "ping" every so often and is restarted, and
counters report equal numbers; the events of `journal` are all different.
"""
import json

from harness.laboratory import orders


def run(lab):
    lab.business_key = "value"
    lab.start()
    for topic in ("pings", "counters", "journal"):
        lab.topic(topic, 2)
    for life in range(3):
        app = lab.producer(f"life-{life}")
        for n in range(10):
            app.send("pings", [{"value": "ping"}], cause="same-key-update")
            app.send("counters", [{"value": json.dumps({"shop": s, "open": (n + s) % 3})} for s in range(4)], mode="batch", cause="same-key-update")
            app.send("journal", [{"value": r["value"]} for r in orders(life * 100 + n * 5 + 1, life * 100 + n * 5 + 5)], mode="batch")
        app.close()
    lab.stop()
    lab.leave()
