"""An idempotent importer hangs, its replacement begins 20 orders too early, and the first one wakes up
and goes on with the same input beside it. Orders 41 to 60 are a restart from an old position, orders
61 to 80 were written by two live instances. Other orders of topic `calm` have two writers that share
the work properly.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 20, "concurrent-producers": 20}
RUNS = [{}, {"kafka": "3.9.1"}]


def run(lab):
    lab.start()
    lab.topic("orders")
    lab.topic("calm")
    first = lab.producer("A", own=True)
    first.send("orders", orders(1, 60))
    second = lab.producer("B", own=True)
    second.send("orders", orders(41, 60))
    for n in range(61, 81, 4):
        second.send("orders", orders(n, n + 3))
        first.send("orders", orders(n, n + 3))
    for n in range(1, 40, 4):
        (first if n % 8 == 1 else second).send("calm", orders(1000 + n, 1000 + n + 3))
    first.close()
    second.close()
    # The files show two writers that were alive together; that B began from an old position is in no file.
    lab.also["resend-new-session"] = ["concurrent-producers"]
    lab.stop()
    lab.leave()
