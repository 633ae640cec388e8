"""A transaction over two topics takes its time, an operator takes it for one that hangs and aborts it in one of them.
The client knows nothing of that, goes on and commits: orders 11 to 15 are committed in payments and aborted in orders.
The transactions before and behind it are whole.
"""
import time

from harness.laboratory import orders

RUNS = [{"protocol": 1}, {"protocol": 2}]
COPIES = {}


def run(lab, protocol=2):
    lab.start(protocol=protocol)
    lab.topic("orders")
    lab.topic("payments")
    app = lab.producer("A", own=True, transactional_id="importer-7f3a", transaction_timeout_ms=600_000)

    def both(first, last):
        app.send("orders", orders(first, last), mode="batch")
        app.send("payments", orders(first, last), mode="batch")

    app.begin()
    both(1, 5)
    app.commit()
    app.begin()
    both(11, 15)
    # By less than ten seconds nobody tells what the clocks of two brokers say.
    time.sleep(13)
    lab.abort_by_hand("orders", 0, 6)
    time.sleep(1)
    app.send("payments", orders(16, 17), mode="batch")
    app.commit()
    app.begin()
    both(21, 22)
    app.commit()
    app.close()
    lab.truth["mustReport"] = ["transaction-anomaly"]
    lab.stop()
    lab.leave()
