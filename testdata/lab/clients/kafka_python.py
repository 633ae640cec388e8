"""kafka-python behind the same commands as Client.java."""
import json
import sys

from kafka import KafkaProducer

NUMBERS = ("retries", "linger_ms", "batch_size", "request_timeout_ms", "delivery_timeout_ms", "max_in_flight_requests_per_connection")
producers, underway = {}, {}


def settings(given):
    out = {k.replace(".", "_"): v for k, v in given.items()}
    for k in NUMBERS:
        if k in out:
            out[k] = int(out[k])
    if "enable_idempotence" in out:
        out["enable_idempotence"] = out["enable_idempotence"] == "true"
    if out.get("acks") in ("0", "1"):
        out["acks"] = int(out["acks"])
    return out


def text(value):
    return None if value is None else value.encode()


def send(command):
    name = command["name"]
    for r in command["records"]:
        headers = [(k, v.encode()) for k, v in r.get("headers", {}).items()]
        sent = producers[name].send(r["topic"], key=text(r.get("key")), value=text(r.get("value")), partition=r.get("partition"),
                                    timestamp_ms=r.get("time"), headers=headers)
        underway[name].append(sent)
        if command["mode"] == "each":
            producers[name].flush()
    return {} if command["mode"] == "later" else finish(name)


def finish(name):
    producers[name].flush(60)
    told = []
    for sent in underway[name]:
        try:
            at = sent.get(timeout=60)
            told.append({"partition": at.partition, "offset": at.offset})
        except Exception as failure:
            told.append({"error": type(failure).__name__})
    underway[name] = []
    return {"results": told}


def obey(command):
    name = command.get("name")
    match command["do"]:
        case "producer":
            producers[name], underway[name] = KafkaProducer(**settings(command["settings"])), []
            if "transactional.id" in command["settings"]:
                producers[name].init_transactions()
        case "send":
            return send(command)
        case "results":
            return finish(name)
        case "begin":
            producers[name].begin_transaction()
        case "commit":
            producers[name].commit_transaction()
        case "abort":
            producers[name].abort_transaction()
        case "close":
            producers.pop(name).close(timeout=30)
    return {}


for line in sys.stdin:
    try:
        answer = obey(json.loads(line))
    except Exception as failure:
        answer = {"error": str(failure)}
    print(json.dumps(answer), flush=True)
