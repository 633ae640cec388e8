"""A compacted table of balances, written with changes, then a restart that writes the last 20 changes
again. The cleaner has run over the older part.
"""
import json
import time

COPIES = {"resend-new-session": 15}
RUNS = [{}, {"kafka": "2.8.2"}, {"kafka": "3.9.1"}]


def changes(first, last):
    return [{"key": f"account-{n % 25}", "value": json.dumps({"account": n % 25, "balance": n * 17 % 400, "change": n})} for n in range(first, last + 1)]


def run(lab):
    lab.start(settings={"log.cleaner.backoff.ms": 500, "log.initial.task.delay.ms": 500})
    lab.topic("balances", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", **{"segment_bytes": "3000", "min_compaction_lag_ms": "0"})
    first = lab.producer("A", own=True, linger_ms=2, batch_size=500)
    first.send("balances", changes(1, 100), mode="batch")
    first.kill()
    time.sleep(4)
    first = lab.producer("B", own=True, linger_ms=2, batch_size=500)
    first.send("balances", changes(101, 130), mode="batch")
    first.kill()
    second = lab.producer("C", own=True, linger_ms=2, batch_size=500)
    second.send("balances", changes(116, 140), mode="batch")
    second.close()
    lab.stop()
    assert lab.consumed["readUncommitted"]["records"] < len(lab.sends), "the cleaner took nothing"
    lab.leave()
