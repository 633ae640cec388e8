"""acks=all on two replicas that both have to have it: the follower hangs, the leader stores orders 31 to
40 and cannot confirm them, and the client sends them again when both are in sync. With idempotence=true the
leader recognises what it has.
"""
import time

from harness.laboratory import orders

RUNS = [{"idempotence": "false"}, {"idempotence": "true"}]


def COPIES(release, idempotence="false"):
    return {"retry-without-idempotence": 10 if idempotence == "false" else 0}


def run(lab, idempotence="false"):
    lab.start(brokers=3, settings={"broker.session.timeout.ms": 6000, "replica.lag.time.max.ms": 3000})
    lab.topic("orders", replicas=[2, 3], min_insync_replicas="2")
    app = lab.producer("A", own=True, enable_idempotence=idempotence, acks="all", request_timeout_ms=4000, retry_backoff_ms=500)
    app.send("orders", orders(1, 30), mode="batch")
    lab.brokers[3].hang()
    app.send("orders", orders(31, 40), mode="later")
    time.sleep(15)
    lab.brokers[3].wake()
    app.results()
    app.send("orders", orders(41, 60), mode="batch")
    app.close()
    lab.stop()
    lab.leave(labelled=2)
