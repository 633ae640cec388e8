"""States of orders (open, paid, shipped), then a restart that writes the last 30 changes again: the copy of
`open` comes after `paid` of the same order, and it is a resend all the same. In `calm` states flip back
and forth by themselves.
"""
import json

COPIES = {"resend-new-session": 30}


def changes(numbers):
    names = ("open", "paid", "shipped")
    return [{"key": f"order-{n // 3}", "value": json.dumps({"order": n // 3, "state": names[n % 3]})} for n in numbers]


def run(lab):
    lab.start()
    lab.topic("states")
    lab.topic("calm")
    first = lab.producer("A", own=True)
    first.send("states", changes(range(0, 90)), mode="batch")
    for state in ("on", "off", "on", "off"):
        first.send("calm", [{"key": f"lamp-{n}", "value": json.dumps({"lamp": n, "state": state})} for n in range(30)], mode="batch", cause="same-key-update")
    first.kill()
    second = lab.producer("B", own=True)
    second.send("states", changes(range(60, 120)), mode="batch")
    second.send("calm", [{"key": f"lamp-{n}", "value": json.dumps({"lamp": n, "state": "on"})} for n in range(0, 30, 4)], mode="batch", cause="same-key-update")
    second.close()
    lab.stop()
    lab.leave()
