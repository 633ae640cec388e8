"""Two live instances write the same orders, the second one a few behind the first. The first segment of
the partition is not among the files that the investigator has, so that the second session seems to
begin late; its sequences tell that it does not.
"""
from harness.laboratory import orders

COPIES = {"concurrent-producers": 26}


def run(lab):
    lab.start()
    lab.topic("orders", segment_bytes="2800")
    one = lab.producer("A", own=True)
    two = lab.producer("B", own=True)
    two.send("orders", orders(901, 905))
    one.send("orders", orders(1, 25))
    two.send("orders", orders(11, 25))
    one.send("orders", orders(26, 40))
    two.send("orders", orders(26, 40))
    lab.truth |= {"skipConsumed": True, "mayReport": ["offset-gap", "snapshot-mismatch"]}
    lab.also["concurrent-producers"] = ["undetermined"]
    lab.stop(count=False)
    logs = sorted(p.name for p in (lab.broker.data / "orders-0").glob("*.log"))
    lab.leave(keep=lambda path: path.name.split(".")[0] != logs[0].split(".")[0])
