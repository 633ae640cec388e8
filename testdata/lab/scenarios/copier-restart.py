"""A mirroring copier that keeps client times, without idempotence as Connect has it, is killed before it
stored its position and copies 15 records again, in batches of other sizes. Source and target are there.
"""
from harness.laboratory import orders


def copy(rows):
    return [{"key": r[3], "value": r[4], "time": r[5]} for r in rows]


def run(lab, settings={"enable_idempotence": "false"}, keep=lambda path: True):
    lab.start()
    lab.topic("orders")
    lab.topic("mirror.orders")
    lab.producer("source").send("orders", orders(1, 60), mode="each")
    lab.consumer("copier", ["orders"])
    rows = lab.poll("copier", 60)
    first = lab.producer("A", own=True, linger_ms=5, batch_size=700, **settings)
    first.send("mirror.orders", copy(rows[:45]), mode="batch", cause="pipeline-replay")
    first.kill()
    second = lab.producer("B", own=True, linger_ms=5, batch_size=1600, **settings)
    second.send("mirror.orders", copy(rows[30:]), mode="batch", cause="pipeline-replay")
    second.close()
    lab.stop()
    lab.leave(keep)
