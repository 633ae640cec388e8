"""A mirroring copier that keeps client times is killed before it stored its position and copies 15 records
again. It has no idempotence, as that of Connect, unless writer=idempotent. The batches of the second life have
another size, but with requests=single-records each request holds one record, and the copies look like a client's
retries. Source and target are there; with files=no-source only the target is given to the investigator.
"""
from harness.laboratory import orders

COPIES = {"pipeline-replay": 15}
RUNS = [{}, {"writer": "idempotent"}, {"files": "no-source"}, {"files": "no-source", "requests": "single-records"}]


def run(lab, writer="plain", files="all", requests="batches"):
    lab.start()
    lab.topic("orders")
    lab.topic("mirror.orders")
    lab.producer("source").send("orders", orders(1, 60))
    lab.consumer("copier", ["orders"])
    rows = [{"key": r[3], "value": r[4], "time": r[5]} for r in lab.poll("copier", 60)]
    settings = {"enable_idempotence": str(writer == "idempotent").lower()}
    for name, part, size in (("A", rows[:45], 700), ("B", rows[30:], 1600)):
        batches = {"linger_ms": 0} if requests == "single-records" else {"linger_ms": 5, "batch_size": size}
        life = lab.producer(name, own=True, **settings, **batches)
        life.send("mirror.orders", part, mode="each" if requests == "single-records" else "batch", cause="pipeline-replay")
        life.kill()
    if writer == "idempotent":
        lab.also["pipeline-replay"] = ["resend-new-session"]
    if files == "no-source":
        lab.also["pipeline-replay"] = ["undetermined"]
        lab.not_certain = True
    lab.stop(count=files == "all")
    lab.leave(keep=lambda path: files == "all" or str(path).startswith("mirror"))
