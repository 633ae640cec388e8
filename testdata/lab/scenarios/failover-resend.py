"""An ordinary failover: the follower hangs for a moment, and the leader stores orders 31 to 40 and dies before it
can confirm them. Order 31, of another service, answers the fetch under which the follower hangs; 32 to 40 nobody
else has copied. The follower is elected and gets all of them once more from the same clients, so the dead leader's
log ends in what it will truncate. Without idempotence order 31 is stored twice.
"""
import signal
import time

from harness.laboratory import orders

RUNS = [{}, {"idempotence": "false"}]


def COPIES(release, idempotence="true"):
    return {"retry-without-idempotence": 1 if idempotence == "false" else 0}


def run(lab, idempotence="true"):
    lab.start(brokers=3, settings={"broker.session.timeout.ms": 6000})
    lab.topic("orders", replicas=[2, 3], unclean_leader_election_enable="false", min_insync_replicas="1")
    settings = {"acks": "all", "enable_idempotence": idempotence, "request_timeout_ms": 20000, "retry_backoff_ms": 500}
    app, other = lab.producer("A", own=True, **settings), lab.producer("B", own=True, **settings)
    other.send("orders", orders(1, 5), mode="batch")
    app.send("orders", orders(6, 30), mode="batch")
    lab.brokers[3].hang()
    # A broker reads the next request of a connection when it has answered the one before.
    other.send("orders", orders(31, 31), mode="later")
    time.sleep(1)
    app.send("orders", orders(32, 40), mode="later")
    time.sleep(1)
    lab.brokers[2].stop(signal.SIGKILL)
    lab.brokers[3].wake()
    other.results()
    app.results()
    app.send("orders", orders(41, 60), mode="batch")
    app.close()
    other.close()
    lab.truth["mustReport"] = ["old-leader-tail"]
    lab.stop()
    lab.leave(labelled=3)
