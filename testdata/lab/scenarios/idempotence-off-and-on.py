"""Three deploys of one application: idempotent, then acks=1 (which switches idempotence off), then
idempotent again. No record is stored twice. In `steady` an unprotected reporter writes beside a
protected service all the time.
"""
from harness.laboratory import orders


def run(lab):
    lab.start()
    lab.topic("orders")
    lab.topic("steady")
    side = lab.producer("reporter", enable_idempotence="false")
    for n, (name, settings) in enumerate((("v1", {}), ("v2", {"acks": "1"}), ("v3", {}))):
        app = lab.producer(name, **settings)
        app.send("orders", orders(n * 40 + 1, n * 40 + 40))
        app.close()
    service = lab.producer("service")
    for n in range(1, 60, 6):
        service.send("steady", orders(n, n + 3), mode="batch")
        side.send("steady", orders(n + 4, n + 5), mode="batch")
    lab.truth["protectionLost"] = [{"topic": "orders", "partition": 0, "fromOffset": 40}]
    lab.truth["mustReport"] = ["idempotence-lost", "idempotence-off"]
    lab.stop()
    lab.leave()
