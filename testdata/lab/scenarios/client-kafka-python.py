"""One plan by another client: a restart from an old position (idempotent), a transaction aborted and
tried again, a restart of the transactional producer, and the same events without idempotence.
"""
from harness.laboratory import orders

CLIENT = "kafka_python"


def run(lab):
    lab.start()
    for topic in ("orders", "payments", "plain"):
        lab.topic(topic, 2)
    for name, first, last in (("A", 1, 40), ("B", 31, 60)):
        life = lab.producer(name, client=CLIENT, enable_idempotence="true")
        for n in range(first, last + 1, 10):
            life.send("orders", orders(n, n + 9), mode="batch")
        life.kill()
    one = lab.producer("C", client=CLIENT, transactional_id="settlement")
    for n, end in ((1, one.abort), (1, one.commit), (11, one.commit)):
        one.begin()
        one.send("payments", orders(n, n + 9), mode="batch")
        end()
    one.kill()
    two = lab.producer("D", client=CLIENT, transactional_id="settlement")
    two.begin()
    two.send("payments", orders(16, 30), mode="batch")
    two.commit()
    two.close()
    for name, first, last in (("E", 1, 30), ("F", 21, 40)):
        life = lab.producer(name, client=CLIENT, enable_idempotence="false")
        life.send("plain", orders(first, last), mode="batch")
        life.kill()
    lab.also["resend-new-session"] = ["epoch-bump-resend"]
    lab.stop()
    lab.leave()
