"""One scenario's bench: a broker, applications that are told what to send, faults, and the folder
that is left."""
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass

from . import jars, proxy, truth
from .broker import Broker


@dataclass
class Send:
    number: int             # order of all that happened
    session: str
    topic: str
    partition: int | None
    key: str | None
    value: str | None
    headers: dict
    cause: str = ""         # set where the mechanism is not the session's, as for a pipeline
    same_event: bool = False
    offset: int | None = None
    result: str = ""


class Application:
    """A process with producers and consumers in it."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def tell(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client ended: {command}")
        answer = json.loads(line)
        if "error" in answer and command["do"] not in ("commit", "abort"):
            raise RuntimeError(f"{command.get('do')} {command.get('name')}: {answer['error']}")
        return answer

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Producer:
    """One producer object: a session. Sends go into the ledger with what became of them."""

    def __init__(self, lab, name, application, settings):
        self.lab, self.name, self.application = lab, name, application
        application.tell(do="producer", name=name, settings=settings)
        lab.opened[name] = lab.tick()
        self.pending = []

    def send(self, topic, records, mode="each", pause=0, cause="", same_event=False):
        """`records`: dicts with key, value, and perhaps partition, time (ms) and headers."""
        sends = [Send(self.lab.tick(), self.name, topic, r.get("partition"), r.get("key"), r.get("value"), r.get("headers", {}), cause, same_event) for r in records]
        self.lab.sends += sends
        self.pending += sends
        answer = self.application.tell(do="send", name=self.name, mode=mode, pause=pause, records=[{"topic": topic, **r} for r in records])
        if mode != "later":
            self._note(answer["results"])
        return sends

    def results(self):
        self._note(self.application.tell(do="results", name=self.name)["results"])

    def _note(self, results):
        for send, result in zip(self.pending, results, strict=True):
            if "error" in result:
                send.result = result["error"]
            else:
                send.partition, send.result = result["partition"], "ok"
                send.offset = result["offset"] if result["offset"] >= 0 else None
        self.pending = []

    def tell(self, command, **more):
        return self.application.tell(do=command, name=self.name, **more)

    def begin(self): self.tell("begin")
    def commit(self): return self.tell("commit")
    def abort(self): return self.tell("abort")
    def close(self, wait=30_000): self.tell("close", wait=wait)

    def kill(self):
        """kill -9 of its process."""
        self.application.kill()


class Laboratory:
    def __init__(self, name, story, version, out, python, seed):
        self.name, self.story, self.version, self.out, self.python, self.seed = name, story, version, pathlib.Path(out), python, seed
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="lab-"))
        self.proxy = proxy.Proxy()
        self.sends, self.opened, self.clock = [], {}, 0
        self.business_key, self.consumed, self.truth, self.also, self.not_certain, self.any_order = "record-key", None, {}, {}, False, False
        self.topics, self.compacted, self.applications, self.broker, self.main = [], set(), [], None, None

    def tick(self):
        self.clock += 1
        return self.clock

    def start(self, settings=(), features=()):
        if self.broker is None:
            self.broker = Broker(self.version, self.work, self.proxy.port, settings, features)
            self.proxy.target = self.broker.proxied_port
        self.broker.start()
        if self.main is None:
            self.main = self.application()

    def application(self, version=None, client="java"):
        command = jars.java(version or self.version, "Client") if client == "java" else [self.python, jars.HERE / "clients" / f"{client}.py"]
        self.applications.append(Application(command))
        return self.applications[-1]

    def server(self, proxied=False):
        return {"bootstrap.servers": f"127.0.0.1:{self.proxy.port if proxied else self.broker.port}"}

    def topic(self, name, partitions=1, **configs):
        self.topics.append(name)
        if "compact" in configs.get("cleanup_policy", ""):
            self.compacted.add(name)
        self.main.tell(do="topic", name=name, partitions=partitions, settings=self.server(), configs={k.replace("_", "."): v for k, v in configs.items()})

    def producer(self, name, own=False, proxied=False, version=None, client="java", **settings):
        """`own`: in a process of its own, to be killed; settings with _ for the dots."""
        own = own or version or client != "java"
        application = self.application(version, client) if own else self.main
        return Producer(self, name, application, self.server(proxied) | {k.replace("_", "."): v for k, v in settings.items()})

    def consumer(self, group, topics, application=None):
        settings = self.server() | {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": "false", "max.poll.records": 10}
        (application or self.main).tell(do="consumer", name=group, topics=topics, settings=settings)

    def poll(self, group, most, application=None, wait=15_000):
        return (application or self.main).tell(do="poll", name=group, most=most, wait=wait)["records"]

    def commit_offsets(self, group, offsets, application=None):
        (application or self.main).tell(do="commit-offsets", name=group, offsets=offsets)

    def count(self, topics=None):
        """What a real consumer reads, in both isolation levels."""
        class Read:
            def __init__(self, row): self.key, self.value = row[3], row[4]
        self.consumed = {}
        for level in ("read_uncommitted", "read_committed"):
            rows = self.main.tell(do="read", topics=topics or self.topics, settings=self.server() | {"isolation.level": level})["records"]
            keys = {(r[0], truth.event(self, Read(r))) for r in rows}
            name = "readUncommitted" if level == "read_uncommitted" else "readCommitted"
            self.consumed[name] = {"records": len(rows), "distinctKeys": len(keys), "surplus": len(rows) - len(keys)}
        return rows

    def stop(self, kill=False, count=True):
        if count:
            self.count()
        self.broker.stop(signal.SIGKILL if kill else signal.SIGTERM)

    def leave(self, keep=lambda path: True):
        """Copies the log directory, or the part of it that is given to the investigator, and labels it."""
        folder = self.out / self.name
        shutil.rmtree(folder, ignore_errors=True)
        for path in sorted(self.broker.data.rglob("*")):
            inner = path.relative_to(self.broker.data)
            unused = str(inner).startswith("__cluster_metadata") or path.name in (".lock", "bootstrap.checkpoint") or str(inner).startswith("__share")
            if path.is_file() and not unused and keep(inner):
                target = folder / "data" / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["cp", "--sparse=always", path, target], check=True)
        label = truth.label(self, folder / "data")
        (folder / "truth.json").write_text(json.dumps(label, indent=1) + "\n")
        if self.consumed:
            (folder / "consumed.json").write_text(json.dumps(self.consumed, indent=1) + "\n")
        with (folder / "ledger.ndjson").open("w") as ledger:
            for s in self.sends:
                ledger.write(json.dumps(s.__dict__) + "\n")
        (folder / "README.md").write_text(f"# {self.name}\n\n{self.story.strip()}\n\nBroker: Apache Kafka {self.version}. Business key: {self.business_key}.\n")

    def end(self):
        for application in self.applications:
            application.kill()
        if self.broker:
            self.broker.end()
        shutil.rmtree(self.work, ignore_errors=True)


def orders(first, last, **more):
    """Order events; the same bytes whoever asks."""
    return [{"key": f"order-{n:04}", "value": json.dumps({"orderId": f"order-{n:04}", "amount": f"{n * 37 % 900}.{n % 100:02}", "currency": "EUR"}), **more}
            for n in range(first, last + 1)]
