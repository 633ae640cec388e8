"""librdkafka (confluent-kafka) behind the commands of the laboratory."""
from confluent_kafka import Producer
from serve import serve


class Session:
    def __init__(self, settings):
        self.inner, self.told = Producer(settings), []
        if "transactional.id" in settings:
            self.inner.init_transactions()
        self.begin, self.commit, self.abort = self.inner.begin_transaction, self.inner.commit_transaction, self.inner.abort_transaction

    def send(self, record):
        told, at = self.told, len(self.told)
        told.append({"error": "unanswered"})

        def stored(error, message):
            told[at] = {"error": str(error)} if error else {"partition": message.partition(), "offset": message.offset()}
        more = {k: record[k] for k in ("partition", "headers") if record.get(k) is not None}
        if "time" in record:
            more["timestamp"] = record["time"]
        self.inner.produce(record["topic"], key=record.get("key"), value=record.get("value"), on_delivery=stored, **more)
        self.inner.poll(0)

    def finish(self):
        self.inner.flush(60)
        told, self.told = self.told, []
        return told

    def close(self):
        self.inner.flush(30)


serve(Session)
