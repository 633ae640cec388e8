"""Nothing is wrong here. Devices send equal heartbeats, order states flip back and forth, tombstones
come twice, a service says that it started each time it starts, and a price list is published in full by
each nightly job.
"""
import json

from harness.laboratory import orders


def run(lab):
    lab.start()
    for topic in ("heartbeats", "states", "deletions", "starts", "prices", "journal"):
        lab.topic(topic)
    devices = lab.producer("devices")
    for beat in range(12):
        devices.send("heartbeats", [{"key": f"device-{d}", "value": '{"status":"ok"}'} for d in range(1, 9)], mode="batch", cause="same-key-update")
    states = lab.producer("states")
    for state in ("open", "paid", "open", "paid", "shipped"):
        states.send("states", [{"key": f"order-{n}", "value": json.dumps({"order": n, "state": state})} for n in range(1, 31)], mode="batch", cause="same-key-update")
    for night in range(3):
        job = lab.producer(f"job-{night}", own=True)
        job.send("starts", [{"key": "price-job", "value": '{"event":"started"}'}], cause="same-key-update")
        job.send("prices", [{"key": f"article-{a}", "value": json.dumps({"article": a, "price": a * 3 + (night if a % 9 == 0 else 0)})} for a in range(1, 41)], mode="batch", cause="same-key-update")
        job.send("deletions", [{"key": f"user-{u}"} for u in range(1, 11)], mode="batch", cause="same-key-update")
        job.send("journal", orders(night * 30 + 1, night * 30 + 30), mode="batch")
        job.close()
    lab.stop()
    lab.leave()
