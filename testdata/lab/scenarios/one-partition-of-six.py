"""A restart from an old position over six partitions, and of these the investigator has one directory."""
from harness.laboratory import orders

COPIES = {"resend-new-session": 8}


def run(lab):
    lab.start()
    lab.topic("orders", 6)
    first = lab.producer("A", own=True)
    first.send("orders", orders(1, 120), mode="batch")
    first.kill()
    second = lab.producer("B", own=True)
    second.send("orders", orders(81, 150), mode="batch")
    second.close()
    lab.truth["skipConsumed"] = True
    lab.stop(count=False)
    lab.leave(keep=lambda path: str(path).startswith("orders-3/"))
