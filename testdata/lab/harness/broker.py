"""A broker on the loopback address: one KRaft process from 3.3 on, ZooKeeper and broker before."""
import pathlib
import signal
import socket
import subprocess
import time

from . import jars

INTERNAL = {
    "offsets.topic.num.partitions": 1, "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 1, "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1, "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0, "auto.create.topics.enable": "false",
    "log.index.size.max.bytes": 65536, "num.network.threads": 2, "num.io.threads": 2,
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, process, log):
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the broker ended: {log.read_text()[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the broker does not listen: {log.read_text()[-2000:]}")


class Broker:
    """`port` is for clients; whoever comes through `proxied_port` is told to go on through the proxy."""

    def __init__(self, version, work, proxy_port, settings=(), features=()):
        self.version, self.work = version, pathlib.Path(work)
        self.data = self.work / "data"
        self.port, self.proxied_port, self.controller_port = free_port(), free_port(), free_port()
        self.with_zookeeper = tuple(int(n) for n in version.split(".")[:2]) < (3, 3)
        self.process = self.zookeeper = None
        self.settings = {
            "log.dirs": self.data,
            "listeners": f"CLIENT://127.0.0.1:{self.port},PROXIED://127.0.0.1:{self.proxied_port}",
            "advertised.listeners": f"CLIENT://127.0.0.1:{self.port},PROXIED://127.0.0.1:{proxy_port}",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,PROXIED:PLAINTEXT",
            "inter.broker.listener.name": "CLIENT", **INTERNAL,
        }
        if self.with_zookeeper:
            self.settings |= {"broker.id": 1, "zookeeper.connect": f"127.0.0.1:{self.controller_port}"}
        else:
            self.settings |= {
                "process.roles": "broker,controller", "node.id": 1,
                "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}", "controller.listener.names": "CONTROLLER",
                "listeners": f"{self.settings['listeners']},CONTROLLER://127.0.0.1:{self.controller_port}",
                "listener.security.protocol.map": "CLIENT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
            }
        self.settings |= dict(settings)
        self.properties = self.work / "server.properties"
        self.properties.write_text("".join(f"{k}={v}\n" for k, v in self.settings.items()))
        if self.with_zookeeper:
            self._start_zookeeper()
        else:
            extra = [part for feature in features for part in ("--feature", feature)]
            format = jars.java(version, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", self.properties, *extra)
            done = subprocess.run(format, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)

    def _start_zookeeper(self):
        config = self.work / "zookeeper.properties"
        config.write_text(f"dataDir={self.work}/zookeeper\nclientPort={self.controller_port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n")
        log = self.work / "zookeeper.log"
        self.zookeeper = subprocess.Popen(jars.java(self.version, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config),
                                          stdout=log.open("w"), stderr=subprocess.STDOUT)
        wait_for(self.controller_port, self.zookeeper, log)

    def start(self):
        log = self.work / "broker.log"
        self.process = subprocess.Popen(jars.java(self.version, "kafka.Kafka", self.properties, heap="300m"),
                                        stdout=log.open("a"), stderr=subprocess.STDOUT)
        wait_for(self.port, self.process, log)

    def stop(self, by=signal.SIGTERM):
        """A clean stop writes snapshots and checkpoints; SIGKILL leaves what a crash leaves."""
        self.process.send_signal(by)
        self.process.wait(60)
        self.process = None

    def end(self):
        for process in (self.process, self.zookeeper):
            if process and process.poll() is None:
                process.kill()
                process.wait()
