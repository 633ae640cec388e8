"""An importer, idempotent where the release knows that (0.11), is killed; the next begins 20 orders too early."""
from harness.laboratory import orders

COPIES = {"resend-new-session": 20}
RUNS = [{}, {"kafka": "0.9.0.1"}, {"kafka": "2.0.1"}, {"kafka": "4.0.0"}]


def run(lab):
    lab.start()
    lab.topic("orders")
    first = lab.producer("A", own=True)
    first.send("orders", orders(1, 60))
    first.kill()
    second = lab.producer("B", own=True)
    second.send("orders", orders(41, 80))
    second.close()
    lab.stop()
    lab.leave()
