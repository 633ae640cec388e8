"""A copier without idempotence sends one record a request and keeps client times; it is killed and copies
15 records again. Its source is not among the files: the copies look like a client's retries.
"""


def run(lab):
    from harness.laboratory import orders
    lab.start()
    lab.topic("orders")
    lab.topic("mirror.orders")
    lab.producer("source").send("orders", orders(1, 60))
    lab.consumer("copier", ["orders"])
    rows = [{"key": r[3], "value": r[4], "time": r[5]} for r in lab.poll("copier", 60)]
    for name, part in (("A", rows[:45]), ("B", rows[30:])):
        life = lab.producer(name, own=True, enable_idempotence="false", linger_ms=0)
        life.send("mirror.orders", part, cause="pipeline-replay")
        life.kill()
    lab.also["pipeline-replay"] = ["undetermined"]
    lab.not_certain = True
    lab.stop(count=False)
    lab.leave(keep=lambda path: str(path).startswith("mirror"))
