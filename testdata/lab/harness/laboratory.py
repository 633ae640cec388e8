"""One scenario's bench: a broker, applications that are told what to send, faults, and the folder
that is left."""
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from . import clients, jars, mirror, proxy, releases, truth
from .application import Application, Producer
from .broker import Broker


class Laboratory:
    def __init__(self, name, story, release, out, seed=0, parameters=None):
        self.name, self.story, self.release, self.out = name, story, release, pathlib.Path(out)
        self.seed, self.parameters, self.protocol, self.libraries = seed, parameters or {}, None, set()
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="lab-"))
        self.proxy = proxy.Proxy()
        self.sends, self.opened, self.idempotent, self.codecs, self.commits, self.clock = [], {}, {}, {}, [], 0
        self.business_key, self.consumed, self.truth, self.also, self.not_certain, self.any_order = "record-key", None, {}, {}, False, False
        self.topics, self.compacted, self.gap_reasons, self.mirrored = [], set(), {}, set()
        self.applications, self.mirrors, self.brokers, self.main, self.reader = [], [], {}, None, None

    @property
    def broker(self):
        return self.brokers.get(1)

    def tick(self):
        self.clock += 1
        return self.clock

    def start(self, settings=(), protocol=None, brokers=1, directories=1):
        """Starts the broker, again after a stop. `protocol` of transactions: 1 or 2 where the broker has both."""
        if self.broker is None:
            self.protocol = releases.transaction_protocol(self.release, protocol)
            features = [f"transaction.version={protocol}"] if protocol and releases.has_both_protocols(self.release) else []
            for node in range(1, brokers + 1):
                self.brokers[node] = Broker(self.release, self.work, self.proxy.port, settings, features, node, self.broker, directories)
            self.proxy.target = self.broker.proxied_port
        for broker in self.brokers.values():
            if broker.process is None:
                broker.start()
        if self.main is None:
            self.main = self.application(release=releases.client_for(self.release))

    def application(self, release=None, client="java"):
        log = self.work / f"application-{len(self.applications)}.log"
        self.libraries.add(clients.version(client, release or self.release))
        self.applications.append(Application(clients.command(client, release or self.release), log))
        return self.applications[-1]

    def server(self, proxied=False):
        if proxied and not releases.with_listener_names(self.release):
            raise RuntimeError(f"{self.release} has one listener: no way through the proxy")
        ports = [self.proxy.port] if proxied else [broker.port for broker in self.brokers.values()]
        return {"bootstrap.servers": ",".join(f"127.0.0.1:{port}" for port in ports)}

    def topic(self, name, partitions=1, replicas=None, **configs):
        """Settings with _ for the dots; `segment_bytes` may be smaller than users are allowed."""
        self.topics.append(name)
        if "compact" in configs.get("cleanup_policy", ""):
            self.compacted.add(name)
        configs = {k.replace("_", "."): v for k, v in configs.items()}
        if "segment.bytes" in configs:
            configs[releases.segment_bytes(self.release)] = configs.pop("segment.bytes")
        if releases.with_listener_names(self.release):
            more = {"replicas": replicas} if replicas else {}
            self.main.tell(do="topic", name=name, partitions=partitions, settings=self.server(), configs=configs, **more)
        else:
            self.broker.create_topic(name, partitions)

    def producer(self, name, own=False, proxied=False, release=None, client="java", application=None, **settings):
        """`own`: in a process of its own, to be killed, or in that of `application`; settings with _ for the dots."""
        shared = not own and client == "java" and releases.client_for(self.release) == (release or self.release)
        application = application or (self.main if shared else self.application(release, client))
        given = self.server(proxied) | {k.replace("_", "."): v for k, v in settings.items()}
        version = releases.number(releases.client_for(self.release) if shared else release or self.release)
        if client == "java" and (0, 11) <= version < (3, 0) and not {"enable.idempotence", "acks", "retries", "transactional.id"} & given.keys():
            given |= {"enable.idempotence": "true", "acks": "all"}      # what later clients do unasked
        if client == "sarama" and releases.number(self.release) < (2, 1):
            given["sarama.version"] = ".".join(self.release.split(".")[:4 if self.release.startswith("0.") else 3])     # it does not ask the broker
        self.codecs[name] = given.get("compression.type")
        self.idempotent[name] = self._is_idempotent(client, version, given)
        return Producer(self, name, application, given)

    def _is_idempotent(self, client, version, given):
        """Whether every record of such a producer has to carry a producer id; None where the settings leave it open."""
        if releases.number(self.release) < (0, 11) or client == "java" and version < (0, 11):
            return False
        if "transactional.id" in given or given.get("enable.idempotence") == "true":
            return True
        if given.get("enable.idempotence") == "false":
            return False
        return True if client == "java" and not {"acks", "retries", "max.in.flight.requests.per.connection"} & given.keys() else None

    def consumer(self, group, topics, application=None, **more):
        settings = self.server() | {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": "false", "max.poll.records": 10}
        (application or self.main).tell(do="consumer", name=group, topics=topics, settings=settings | {k.replace("_", "."): v for k, v in more.items()})

    def poll(self, group, most, application=None, wait=15_000):
        return (application or self.main).tell(do="poll", name=group, most=most, wait=wait)["records"]

    def commit_offsets(self, group, offsets, application=None):
        (application or self.main).tell(do="commit-offsets", name=group, offsets=offsets)
        self.commits += [(group, *offset) for offset in offsets]

    def commit_in_transaction(self, life, group, offsets):
        """The group's positions as part of the transaction that `life` has begun and commits with it."""
        life.tell("send-offsets", consumer=group, offsets=offsets)
        life.commit()
        self.commits += [(group, *offset) for offset in offsets]

    def mirror(self, source, **settings):
        """MirrorMaker 2 with this broker on both sides: copies topic `source` to `east.<source>`."""
        if f"east.{source}" not in self.topics:
            self.topics.append(f"east.{source}")
            self.mirrored.add(f"east.{source}")
        self.libraries.add(f"MirrorMaker {self.release}")
        self.mirrors.append(mirror.MirrorMaker(self.release, self.work, self.server()["bootstrap.servers"], source, settings))
        return self.mirrors[-1]

    def stored_records(self, topic):
        """How many records a consumer finds in a topic, which need not exist yet."""
        return len(self.main.tell(do="read", topics=[topic], settings=self.server())["records"])

    def administrate(self, command, topic, **more):
        return self.main.tell(do=command, name=topic, settings=self.server(), **more)

    def abort_by_hand(self, topic, partition, start_offset):
        """What an operator does about a transaction that seems to hang: an abort in one partition (4.0 and later)."""
        main = "org.apache.kafka.tools.TransactionsCommand"
        done = subprocess.run(jars.java(self.release, main, "--bootstrap-server", self.server()["bootstrap.servers"], "abort", "--topic", topic,
                                        "--partition", partition, "--start-offset", start_offset), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def recreate_topic(self, name, partitions=1):
        """What was sent to it is gone, and an empty topic of the same name follows as soon as the broker lets it."""
        self.administrate("delete-topic", name)
        self.topics.remove(name)
        for send in self.sends:
            if send.topic == name:
                send.topic = f"{name} (deleted)"

        def created():
            try:
                self.topic(name, partitions)
                return True
            except RuntimeError as refused:
                self.topics.remove(name)
                if "TopicExists" not in str(refused):
                    raise
        self.wait_until("the topic to be gone", created)

    def wait_until(self, what, true, seconds=120):
        """Waits for something that the broker does when it likes."""
        for _ in range(seconds * 5):
            if true():
                return
            time.sleep(0.2)
        raise RuntimeError(f"waited in vain: {what}")

    def count(self, topics=None):
        """What a real consumer of the broker's own release reads, in both isolation levels."""
        if self.reader is None:
            self.reader = self.main if releases.client_for(self.release) == self.release else self.application()
        class Read:
            def __init__(self, row): self.key, self.value = row[3], row[4]
        self.consumed = {}
        for level in ("read_uncommitted", "read_committed"):
            settings = self.server() | {"isolation.level": level}
            if releases.number(self.release) < (0, 11):     # there are no transactions, and brokers refuse who asks for them
                settings |= {"isolation.level": "read_uncommitted", "group.id": "reader", "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
            rows = self.reader.tell(do="read", topics=topics or self.topics, settings=settings)["records"]
            keys = {(r[0], truth.event(self, Read(r))) for r in rows}
            name = "readUncommitted" if level == "read_uncommitted" else "readCommitted"
            self.consumed[name] = {"records": len(rows), "distinctKeys": len(keys), "surplus": len(rows) - len(keys)}
        return rows

    def stop(self, kill=False, count=True):
        if count:
            self.count()
        for broker in reversed(self.brokers.values()):
            if broker.process:
                broker.stop(signal.SIGKILL if kill else signal.SIGTERM)

    def leave(self, keep=lambda path: True, labelled=None, metadata=False):
        """Copies the log directories, or the part of them that is given to the investigator, and labels
        them. `labelled`: the node whose replica consumers read, where there are several. `metadata`: with the log of
        the controller, which is node 1."""
        folder = self.out / self.name
        shutil.rmtree(folder, ignore_errors=True)
        sources = [(node, directory) for node, broker in self.brokers.items() for directory in broker.directories]
        read, copied = [], []
        for n, (node, directory) in enumerate(sources, 1):
            target = folder / ("data" if len(sources) == 1 else f"data-{n}")
            self._copy(directory, target, keep, metadata and node == 1)
            copied.append(target)
            if labelled in (None, node):
                read.append(target)
        label = truth.label(self, read, copied)
        if len(sources) > 1:
            label["scan"] = [f"data-{n}" for n in range(1, len(sources) + 1)]
        if self.consumed:
            (folder / "consumed.json").write_text(json.dumps(self.consumed, indent=1) + "\n")
        with (folder / "ledger.ndjson").open("w") as ledger:
            for s in self.sends:
                ledger.write(json.dumps(s.__dict__) + "\n")
        (folder / "README.md").write_text(self._readme())
        # Last: a folder without a label is not judged.
        (folder / "truth.json").write_text(json.dumps(label, indent=1) + "\n")

    def made(self):
        """What was run."""
        return {"kafka": self.release, "parameters": self.parameters, "seed": self.seed, "transactionProtocol": self.protocol, "clients": sorted(self.libraries)}

    def _readme(self):
        said = [f"Broker: Apache Kafka {self.release}. Clients: {', '.join(sorted(self.libraries))}."]
        said += [f"Parameters: {', '.join(f'{k}={v}' for k, v in self.parameters.items())}."] if self.parameters else []
        said += [f"Seed: {self.seed}."] if self.seed else []
        said += [f"The broker's protocol of transactions: {self.protocol}."] if self.protocol else []
        said += [f"Business key: {self.business_key}."]
        return "\n".join([f"# {self.name}", "", self.story.strip(), "", *said, ""])

    @staticmethod
    def _copy(directory, folder, keep, metadata):
        # The indexes of the controller's log have 10 MB, whatever the settings say.
        def unwanted(inner):
            if str(inner).startswith("__cluster_metadata"):
                return not metadata or inner.suffix != ".log"
            return str(inner).startswith("__share")

        for path in sorted(directory.rglob("*")):
            inner = path.relative_to(directory)
            unused = unwanted(inner) or path.name in (".lock", "bootstrap.checkpoint")
            if path.is_file() and not unused and keep(inner):
                target = folder / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["cp", "--sparse=always", path, target], check=True)

    def end(self):
        for application in self.applications:
            application.kill()
        for copier in self.mirrors:
            copier.end()
        for broker in self.brokers.values():
            broker.end()
        self.proxy.end()
        shutil.rmtree(self.work, ignore_errors=True)


def orders(first, last, **more):
    """Order events; the same bytes whoever asks."""
    return [{"key": f"order-{n:04}", "value": json.dumps({"orderId": f"order-{n:04}", "amount": f"{n * 37 % 900}.{n % 100:02}", "currency": "EUR"}), **more}
            for n in range(first, last + 1)]
