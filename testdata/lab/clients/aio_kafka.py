"""aiokafka behind the commands of the laboratory; its event loop runs in a thread."""
import asyncio
import threading

from aiokafka import AIOKafkaProducer
from serve import serve, text

loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()


def wait(doing):
    return asyncio.run_coroutine_threadsafe(doing, loop).result(90)


def settings(given):
    """Idempotence is off unless asked for; there is one request a partition in flight, and no count of retries."""
    out = {"bootstrap_servers": given["bootstrap.servers"], "enable_idempotence": given.get("enable.idempotence", "true") == "true"}
    if given.get("acks") in ("0", "1"):
        out |= {"acks": int(given["acks"]), "enable_idempotence": False}
    if given.get("compression.type", "none") != "none":
        out["compression_type"] = given["compression.type"]
    if "transactional.id" in given:
        out["transactional_id"] = given["transactional.id"]
    for theirs, ours in (("linger.ms", "linger_ms"), ("batch.size", "max_batch_size"), ("request.timeout.ms", "request_timeout_ms")):
        if theirs in given:
            out[ours] = int(given[theirs])
    return out


class Session:
    def __init__(self, given):
        async def make():
            producer = AIOKafkaProducer(**settings(given))
            await producer.start()
            return producer
        self.inner, self.underway = wait(make()), []

    def send(self, record):
        headers = [(k, v.encode()) for k, v in record.get("headers", {}).items()]
        self.underway.append(wait(self.inner.send(
            record["topic"], value=text(record.get("value")), key=text(record.get("key")), partition=record.get("partition"),
            timestamp_ms=record.get("time"), headers=headers)))

    def finish(self):
        async def answer(sent):
            try:
                at = await sent
                return {"partition": at.partition, "offset": at.offset}
            except Exception as failure:
                return {"error": type(failure).__name__}
        told = [wait(answer(sent)) for sent in self.underway]
        self.underway = []
        return told

    def begin(self):
        wait(self.inner.begin_transaction())

    def commit(self):
        wait(self.inner.commit_transaction())

    def abort(self):
        wait(self.inner.abort_transaction())

    def close(self):
        wait(self.inner.stop())


serve(Session)
