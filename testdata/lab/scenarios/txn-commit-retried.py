"""The answer to a commit takes two seconds; who asked for the ten orders does not wait so long and asks again, and
the application writes the whole transaction again in the same session. Both are committed.
"""
from harness.laboratory import orders

COPIES = {"resend-same-session": 10}
RUNS = [{"protocol": 1}, {"protocol": 2}, {"kafka": "2.5.1"}]


def run(lab, protocol=2):
    lab.start(protocol=protocol)
    lab.topic("orders", 2)
    app = lab.producer("A", own=True, proxied=True, transactional_id="importer")
    for n in (1, 11, 11, 21, 31):
        app.begin()
        app.send("orders", orders(n, n + 9), mode="batch")
        lab.proxy.delay = 2 if n == 11 else 0
        app.commit()
        lab.proxy.delay = 0
    app.close()
    lab.stop()
    lab.leave()
