"""One plan by each client library, in every codec that the broker knows (zstd from 2.1 on): a restart from an
old position without idempotence, and from Kafka 0.11 on also the restart of an idempotent producer and of
a transactional one, whose first transaction is aborted and tried again.
"""
from harness import clients, releases
from harness.laboratory import orders

RUNS = ([{"client": "java", "kafka": release} for release in releases.RELEASES]
        + [{"client": client, "kafka": "4.3.1"} for client in clients.LIBRARIES[1:]]
        + [{"client": client, "kafka": release} for client, release in (
            ("confluent", "0.11.0.3"), ("kafka_python", "2.3.1"), ("aio_kafka", "2.5.1"), ("kafkajs", "1.1.1"),
            ("franz", "3.3.2"), ("sarama", "2.0.1"), ("franz", "0.10.2.2"), ("sarama", "4.4.0"))])


def kinds_and_codecs(release):
    kinds = {"plain": {"enable_idempotence": "false"}}
    if releases.number(release) >= (0, 11):
        kinds |= {"orders": {"enable_idempotence": "true"}, "payments": {"transactional_id": "settlement"}}
    return kinds, [codec for codec in clients.CODECS if codec != "zstd" or releases.number(release) >= (2, 1)]


def COPIES(release, client):
    kinds, codecs = kinds_and_codecs(release)
    return {"resend-new-session": 10 * len(codecs) * len(kinds), "aborted-then-retried": 10 * len(codecs) * ("payments" in kinds)}


def run(lab, client):
    kinds, codecs = kinds_and_codecs(lab.release)
    lab.start()
    for topic in (f"{kind}-{codec}" for kind in kinds for codec in codecs):
        lab.topic(topic, 2)
    for first, last in ((1, 40), (31, 60)):
        life = lab.application(client=client)
        for kind, settings in kinds.items():
            for codec in codecs:
                settings = {k: f"{v}-{codec}" if k == "transactional_id" else v for k, v in settings.items()}
                app = lab.producer(f"{kind}-{codec}-{first}", application=life, compression_type=codec, **settings)
                if kind == "payments" and first == 1:
                    write(app, f"{kind}-{codec}", 1, app.abort)
                for n in range(first, last, 10):
                    write(app, f"{kind}-{codec}", n, app.commit if kind == "payments" else None)
        life.kill()
    lab.stop()
    lab.leave()


def write(app, topic, first, end):
    if end:
        app.begin()
    app.send(topic, orders(first, first + 9), mode="batch")
    if end:
        end()
