"""DeleteRecords took the first 30 orders away; then the importer is killed and the next one begins at order
21. Orders 31 to 40 are stored twice, the first copies of the others are gone for readers, although
their bytes may still be in the files.
"""
from harness.laboratory import orders

COPIES = {"resend-new-session": 10}
RUNS = [{}, {"kafka": "2.8.2"}]


def run(lab):
    lab.start(settings={"log.retention.check.interval.ms": 1_000_000_000})
    lab.topic("orders", segment_bytes="2800")
    first = lab.producer("A", own=True)
    first.send("orders", orders(1, 40))
    first.kill()
    lab.administrate("delete-records", "orders", partition=0, before=30)
    second = lab.producer("B", own=True)
    second.send("orders", orders(21, 60))
    second.close()
    lab.stop()
    lab.leave()
