"""Three deploys of one application: idempotent, then with a setting that switches idempotence off without an
error (acks=1, no retries, or ten requests in flight: parameter way), then idempotent again. No record is stored
twice. In `steady` an unprotected reporter writes beside a protected service all the time.
"""
from harness.laboratory import orders

WAYS = {"acks": {"acks": "1"}, "retries": {"retries": "0"}, "in-flight": {"max_in_flight_requests_per_connection": "10"}}
RUNS = [{"way": "acks"}, {"way": "retries"}, {"way": "in-flight", "kafka": "3.9.1"}]     # 4.x refuses the last


def run(lab, way):
    lab.start()
    lab.topic("orders")
    lab.topic("steady")
    side = lab.producer("reporter", enable_idempotence="false")
    for n, (name, settings) in enumerate((("v1", {}), ("v2", WAYS[way]), ("v3", {}))):
        app = lab.producer(name, **settings)
        app.send("orders", orders(n * 40 + 1, n * 40 + 40))
        app.close()
    service = lab.producer("service")
    for n in range(1, 60, 6):
        service.send("steady", orders(n, n + 3), mode="batch")
        side.send("steady", orders(n + 4, n + 5), mode="batch")
    partition, offset = min((s.partition, s.offset) for s in lab.sends if s.session == "v2" and s.topic == "orders")
    lab.truth["protectionLost"] = [{"topic": "orders", "partition": partition, "fromOffset": offset}]
    lab.truth["mustReport"] = ["idempotence-lost", "idempotence-off"]
    lab.truth["mustNotReportAt"] = [{"topic": "steady", "partition": 0, "codes": ["idempotence-lost"]}]
    lab.stop()
    lab.leave()
