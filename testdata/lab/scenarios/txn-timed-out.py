"""A transaction runs into its timeout and the coordinator aborts it. Another service, with a
transactional.id of its own, writes the same orders and commits. A third one dies in a transaction
that is still running when the broker stops; a plain producer writes two of its orders.
"""
import time

from harness.laboratory import orders

COPIES = {"aborted-then-retried": 10, "resend-new-session": 2}
RUNS = [{"protocol": 1}, {"protocol": 2}, {"kafka": "2.8.2"}]


def run(lab, protocol=2):
    lab.start(protocol=protocol, settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": 500})
    lab.topic("orders")
    first = lab.producer("A", own=True, transactional_id="importer-7f3a", transaction_timeout_ms=2000)
    first.begin()
    first.send("orders", orders(1, 10), mode="batch")
    time.sleep(5)
    second = lab.producer("B", transactional_id="importer-91c0")
    second.begin()
    second.send("orders", orders(1, 12), mode="batch")
    second.commit()
    third = lab.producer("C", own=True, transactional_id="importer-aa17", transaction_timeout_ms=600_000)
    third.begin()
    third.send("orders", orders(13, 20), mode="batch")
    third.kill()
    plain = lab.producer("D")
    plain.send("orders", orders(19, 22), mode="batch")
    lab.stop()
    lab.leave()
