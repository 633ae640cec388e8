"""A relay was scaled to three instances that share no lock: each writes every row of an outbox within a moment, under
an event id of its own in a header. A fourth producer writes rows of its own and repeats nothing.
"""
import json
import random

COPIES = {"concurrent-producers": 100}


def run(lab):
    lab.business_key = "json:/row"
    draw = random.Random(7)
    lab.start()
    lab.topic("relay")
    relays = [lab.producer(name, own=True, linger_ms=0) for name in ("A", "B", "C")]
    other = lab.producer("D", own=True, linger_ms=0)
    event_id = lambda: {"event-id": f"{draw.getrandbits(128):032x}"}
    for row in range(50):
        value = json.dumps({"row": row, "amount": row * 7 % 31})
        for relay in relays:
            relay.send("relay", [{"value": value, "headers": event_id()}], same_event=True)
        other.send("relay", [{"value": json.dumps({"row": 1000 + row, "amount": 1}), "headers": event_id()}])
    for one in [*relays, other]:
        one.close()
    lab.stop()
    lab.leave()
