"""A group reads 60 orders, commits as it goes, and an operator sets it back to 30: it reads the rest a second
time. Nothing is stored twice there. In `bills` ten records are, written again by a restart, and group `ledger`
has read both copies, group `late` none.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 10}
RUNS = [{}, {"kafka": "2.8.2"}]


def run(lab):
    lab.start()
    for topic in ("orders", "bills"):
        lab.topic(topic)
    writer = lab.producer("orders", own=True)
    writer.send("orders", orders(1, 60), mode="batch")
    read(lab, "billing", "orders", 60)
    lab.commit_offsets("billing", [["orders", 0, 30]])
    lab.main.tell(do="close-consumer", name="billing")
    read(lab, "billing", "orders", 30)
    for name, first, last in (("A", 1, 40), ("B", 31, 60)):
        life = lab.producer(name, own=True)
        life.send("bills", orders(first, last), mode="batch")
        life.kill()
    read(lab, "ledger", "bills", 70)
    read(lab, "late", "bills", 20)
    lab.truth["mustReport"] = ["consumer-rewind"]
    lab.stop()
    lab.leave()


def read(lab, group, topic, count):
    lab.consumer(group, [topic])
    done = 0
    while done < count:
        rows = lab.poll(group, 10)
        done += len(rows)
        lab.commit_offsets(group, [[topic, 0, rows[-1][2] + 1]])
    assert done == count, f"{group} read {done} records of {topic}"
