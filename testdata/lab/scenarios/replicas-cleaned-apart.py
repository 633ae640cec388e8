"""Two replicas of a compacted topic, of which one follows no longer: it hangs before a transaction is aborted,
and dies. The leader goes on, and its cleaner takes the aborted values and the older ones. What only the dead
replica holds is missed by nobody.
"""
import json
import signal
import time

COPIES = {}
RUNS = [{"kafka": "3.9.1"}, {"protocol": 1}, {"protocol": 2}]


def values(first, last, name):
    return [{"key": f"account-{n % 10}", "value": json.dumps({"account": n % 10, "change": f"{name}-{n}"})} for n in range(first, last + 1)]


def run(lab, protocol=None):
    lab.start(brokers=3, protocol=protocol, settings={
        "broker.session.timeout.ms": 6000, "replica.lag.time.max.ms": 3000, "log.cleaner.backoff.ms": 500, "log.initial.task.delay.ms": 500})
    job = lab.producer("B", own=True, transactional_id="interest", transaction_timeout_ms=600_000)
    # The coordinator of transactions has to live on.
    lives = 3 if lab.administrate("leader", "__transaction_state", partition=0)["leader"] == 3 else 2
    dies = 5 - lives
    lab.topic("balances", replicas=[lives, dies], cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", min_insync_replicas="1",
              **{"segment_bytes": "3000", "min_compaction_lag_ms": "0"})
    app = lab.producer("A", own=True, linger_ms=2, batch_size=500)
    app.send("balances", values(1, 40, "a"), mode="batch")
    job.begin()
    job.send("balances", values(1, 10, "aborted"), mode="batch")
    time.sleep(1)
    lab.brokers[dies].hang()
    job.abort()
    time.sleep(8)
    app.send("balances", values(41, 90, "a"), mode="batch")
    time.sleep(8)
    app.send("balances", values(91, 95, "a"), mode="batch")
    app.close()
    time.sleep(5)
    # What the cleaner took is no difference.
    lab.truth["compared"] = []
    lab.truth["mustNotReport"] = ["replica-divergence", "old-leader-tail", "leader-epoch-anomaly"]
    lab.brokers[dies].stop(signal.SIGKILL)
    lab.stop()
    lab.leave(labelled=lives)
