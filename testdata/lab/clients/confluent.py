"""librdkafka (confluent-kafka) behind the same commands as Client.java."""
import json
import sys

from confluent_kafka import Producer

producers, results = {}, {}


def send(command):
    name, told = command["name"], results[command["name"]]
    for r in command["records"]:
        at = len(told)
        told.append({"error": "unanswered"})

        def stored(error, message, at=at):
            told[at] = {"error": str(error)} if error else {"partition": message.partition(), "offset": message.offset()}
        more = {k: r[k] for k in ("partition", "headers") if r.get(k) is not None}
        if "time" in r:
            more["timestamp"] = r["time"]
        producers[name].produce(r["topic"], key=r.get("key"), value=r.get("value"), on_delivery=stored, **more)
        if command["mode"] == "each":
            producers[name].flush()
    if command["mode"] == "later":
        return {}
    return finish(name)


def finish(name):
    producers[name].flush(60)
    told, results[name] = results[name], []
    return {"results": told}


def obey(command):
    name = command.get("name")
    match command["do"]:
        case "producer":
            producers[name], results[name] = Producer(command["settings"]), []
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
            producers.pop(name).flush(30)
    return {}


for line in sys.stdin:
    try:
        answer = obey(json.loads(line))
    except Exception as failure:
        answer = {"error": str(failure)}
    print(json.dumps(answer), flush=True)
