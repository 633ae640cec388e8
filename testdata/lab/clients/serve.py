"""The commands of Client.java for clients in Python: one JSON command a line on standard input, one
JSON answer a line on standard output. A client makes producers with `send`, `finish`, `begin`,
`commit`, `abort` and `close`."""
import json
import sys
import time


def text(value):
    return None if value is None else value.encode()


def obey(command, make, producers):
    name = command.get("name")
    match command["do"]:
        case "producer":
            producers[name] = make(command["settings"])
        case "send":
            results = []
            for record in command["records"]:
                producers[name].send(record)
                if command["mode"] == "each":
                    results += producers[name].finish()
                time.sleep(command.get("pause", 0) / 1000)
            if command["mode"] == "batch":
                results = producers[name].finish()
            return {"results": results}
        case "results":
            return {"results": producers[name].finish()}
        case "begin" | "commit" | "abort" as act:
            getattr(producers[name], act)()
        case "close":
            producers.pop(name).close()
        case other:
            raise ValueError(f"unknown command {other}")
    return {}


def serve(make):
    producers = {}
    for line in sys.stdin:
        try:
            answer = obey(json.loads(line), make, producers)
        except Exception as failure:
            answer = {"error": f"{type(failure).__name__}: {failure}"}
        print(json.dumps(answer), flush=True)
