"""A broker on the loopback address: one KRaft process from 3.3 on, ZooKeeper and broker before."""
import pathlib
import signal
import socket
import subprocess
import time

from . import jars, releases

INTERNAL = {
    "offsets.topic.num.partitions": 1, "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 1, "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1, "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0, "auto.create.topics.enable": "false",
    "log.index.size.max.bytes": 65536, "log.cleaner.dedupe.buffer.size": 8 << 20,
    "num.network.threads": 2, "num.io.threads": 2,
}


ZOOKEEPER_SESSION_MS = 4000


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, process, log):
    for _ in range(1800):
        if process.poll() is not None:
            raise RuntimeError(f"the process ended: {log.read_text()[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nothing listens: {log.read_text()[-2000:]}")


class Broker:
    """`port` is for clients; whoever comes through `proxied_port` is told to go on through the proxy.

    Node 1 is controller, too. Further nodes are given node 1 as `controller`.
    """

    def __init__(self, release, work, proxy_port, settings=(), features=(), node=1, controller=None, directories=1):
        self.release, self.node, self.work = release, node, pathlib.Path(work) / f"node-{node}"
        self.work.mkdir()
        self.directories = [self.work / f"data-{n}" for n in range(1, directories + 1)]
        self.data = self.directories[0]
        self.port, self.proxied_port = free_port(), free_port()
        self.controller_port = controller.controller_port if controller else free_port()
        self.process = self.zookeeper = self.killed = None
        self.needs_zookeeper = controller is None and releases.with_zookeeper(release)
        self.settings = {"log.dirs": ",".join(map(str, self.directories)), **INTERNAL, **self._listeners(proxy_port)}
        if releases.with_zookeeper(release):
            self.settings |= {"broker.id": node, "zookeeper.connect": f"127.0.0.1:{self.controller_port}", "zookeeper.session.timeout.ms": ZOOKEEPER_SESSION_MS}
        else:
            self._become_kraft(alone=controller is None)
        self.settings |= dict(settings)
        self.properties = self.work / "server.properties"
        self.properties.write_text("".join(f"{k}={v}\n" for k, v in self.settings.items()))
        if not releases.with_zookeeper(release):
            self._format(features)

    def _listeners(self, proxy_port):
        if not releases.with_listener_names(self.release):
            return {"listeners": f"PLAINTEXT://127.0.0.1:{self.port}"}
        return {
            "listeners": f"CLIENT://127.0.0.1:{self.port},PROXIED://127.0.0.1:{self.proxied_port}",
            "advertised.listeners": f"CLIENT://127.0.0.1:{self.port},PROXIED://127.0.0.1:{proxy_port}",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,PROXIED:PLAINTEXT",
            "inter.broker.listener.name": "CLIENT",
        }

    def _become_kraft(self, alone):
        self.settings |= {
            "process.roles": "broker,controller" if alone else "broker", "node.id": self.node,
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}", "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }
        if alone:
            self.settings["listeners"] += f",CONTROLLER://127.0.0.1:{self.controller_port}"

    def _format(self, features):
        extra = [part for feature in features for part in ("--feature", feature)]
        format = jars.java(self.release, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", self.properties, *extra)
        done = subprocess.run(format, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def _start_zookeeper(self):
        config = self.work / "zookeeper.properties"
        config.write_text(f"dataDir={self.work}/zookeeper\ntickTime=1000\nclientPort={self.controller_port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n")
        log = self.work / "zookeeper.log"
        self.zookeeper = subprocess.Popen(jars.java(self.release, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config),
                                          stdout=log.open("w"), stderr=subprocess.STDOUT)
        wait_for(self.controller_port, self.zookeeper, log)

    def start(self):
        if self.needs_zookeeper and self.zookeeper is None:
            self._start_zookeeper()
        if self.killed and releases.with_zookeeper(self.release):
            # ZooKeeper holds a killed broker for alive as long, and a second one of its id ends at once.
            time.sleep(max(0, self.killed + 1.5 * ZOOKEEPER_SESSION_MS / 1000 - time.monotonic()))
        log = self.work / "broker.log"
        self.process = subprocess.Popen(jars.java(self.release, "kafka.Kafka", self.properties, heap="300m"),
                                        stdout=log.open("a"), stderr=subprocess.STDOUT)
        wait_for(self.port, self.process, log)

    def stop(self, by=signal.SIGTERM):
        """A clean stop writes snapshots and checkpoints; SIGKILL leaves what a crash leaves."""
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(by)
        self.process.wait(120)
        self.process, self.killed = None, time.monotonic() if by == signal.SIGKILL else None

    def hang(self):
        self.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.process.send_signal(signal.SIGCONT)

    def create_topic(self, name, partitions):
        """For releases without an administrator in the client."""
        subprocess.run(jars.java(self.release, "kafka.admin.TopicCommand", "--create", "--zookeeper", f"127.0.0.1:{self.controller_port}",
                                 "--topic", name, "--partitions", partitions, "--replication-factor", 1), check=True, capture_output=True)

    def end(self):
        for process in (self.process, self.zookeeper):
            if process and process.poll() is None:
                process.kill()
                process.wait()
