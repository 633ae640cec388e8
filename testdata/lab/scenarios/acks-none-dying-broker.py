"""Fire and forget: acks=0 while the broker hangs and is killed. What was under way is lost and nobody was
told; what is stored, is stored once.
"""
import signal

from harness.laboratory import orders


def run(lab):
    lab.start()
    lab.topic("orders")
    app = lab.producer("A", own=True, acks="0", linger_ms=0)
    app.send("orders", orders(1, 40))
    lab.broker.hang()
    app.send("orders", orders(41, 60), mode="later", pause=10)
    lab.broker.stop(signal.SIGKILL)
    lab.start()
    app.results()
    app.send("orders", orders(61, 90))
    app.close()
    lab.stop()
    assert lab.consumed["readUncommitted"]["records"] < len(lab.sends), "nothing was lost"
    lab.leave()
