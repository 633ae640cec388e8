"""A restart from an old position, three segments; the investigator was sent the .log files and nothing
else, and of the middle segment not even that.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 8}


def run(lab):
    lab.start()
    lab.topic("orders", segment_bytes="2800")
    first = lab.producer("A", own=True)
    first.send("orders", orders(1, 30))
    first.kill()
    second = lab.producer("B", own=True)
    second.send("orders", orders(21, 60))
    second.close()
    lab.stop(count=False)
    logs = sorted(p.name for p in (lab.broker.data / "orders-0").glob("*.log"))
    lab.truth |= {"mustReport": ["offset-gap"]}
    lab.leave(keep=lambda path: path.name in logs and path.name != logs[-2])
