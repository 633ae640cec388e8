"""The broker is killed with SIGKILL while an idempotent producer writes, recovers, and the producer goes
on. Everything is stored once. At the end the broker is killed again: snapshots and checkpoints are those of
its recovery.
"""
import signal

from harness.laboratory import orders

RUNS = [{}, {"kafka": "2.3.1"}, {"kafka": "3.3.2"}]


def run(lab):
    lab.start()
    lab.topic("orders", 2)
    app = lab.producer("A", own=True, linger_ms=2, batch_size=400)
    app.send("orders", orders(1, 60), mode="batch")
    app.send("orders", orders(61, 90), mode="later")
    lab.broker.stop(signal.SIGKILL)
    lab.start()
    app.results()
    app.send("orders", orders(91, 120), mode="batch")
    lab.stop(kill=True)
    assert lab.consumed["readUncommitted"]["records"] == len(lab.sends), "something was lost"
    lab.leave()
