"""kafka-python behind the commands of the laboratory."""
from kafka import KafkaProducer
from serve import serve, text

NUMBERS = ("retries", "linger_ms", "batch_size", "request_timeout_ms", "delivery_timeout_ms", "max_in_flight_requests_per_connection")


def settings(given):
    out = {k.replace(".", "_"): v for k, v in given.items()}
    for k in NUMBERS:
        if k in out:
            out[k] = int(out[k])
    if "enable_idempotence" in out:
        out["enable_idempotence"] = out["enable_idempotence"] == "true"
    if out.get("acks") in ("0", "1"):
        out["acks"] = int(out["acks"])
    if out.get("compression_type") == "none":
        del out["compression_type"]
    return out


class Session:
    def __init__(self, given):
        self.inner, self.underway = KafkaProducer(**settings(given)), []
        if "transactional.id" in given:
            self.inner.init_transactions()
        self.begin, self.commit, self.abort = self.inner.begin_transaction, self.inner.commit_transaction, self.inner.abort_transaction

    def send(self, record):
        headers = [(k, v.encode()) for k, v in record.get("headers", {}).items()]
        self.underway.append(self.inner.send(
            record["topic"], key=text(record.get("key")), value=text(record.get("value")), partition=record.get("partition"),
            timestamp_ms=record.get("time"), headers=headers))

    def finish(self):
        self.inner.flush(60)
        told = []
        for sent in self.underway:
            try:
                at = sent.get(timeout=60)
                told.append({"partition": at.partition, "offset": at.offset})
            except Exception as failure:
                told.append({"error": type(failure).__name__})
        self.underway = []
        return told

    def close(self):
        self.inner.close(timeout=30)


serve(Session)
