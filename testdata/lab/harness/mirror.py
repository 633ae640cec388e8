"""MirrorMaker 2 in a process of its own, with one broker as both of its clusters."""
import signal
import subprocess

from . import jars, releases


class MirrorMaker:
    def __init__(self, release, work, servers, topic, settings):
        wanted = {
            "clusters": "east, west", "east.bootstrap.servers": servers, "west.bootstrap.servers": servers,
            "east->west.enabled": "true", "west->east.enabled": "false", "topics": topic, "tasks.max": 1,
            "replication.factor": 1, "offset.storage.replication.factor": 1, "status.storage.replication.factor": 1,
            "config.storage.replication.factor": 1, "offset-syncs.topic.replication.factor": 1,
            "emit.heartbeats.enabled": "false", "emit.checkpoints.enabled": "false", "sync.topic.acls.enabled": "false",
            "refresh.topics.interval.seconds": 1, **{k.replace("_", "."): v for k, v in settings.items()},
        }
        properties = work / "mirror.properties"
        properties.write_text("".join(f"{k} = {v}\n" for k, v in wanted.items()))
        command = jars.java(release, "org.apache.kafka.connect.mirror.MirrorMaker", properties, heap="300m", wanted=releases.mirror_artifacts)
        self.process = subprocess.Popen(command, stdout=(work / "mirror.log").open("a"), stderr=subprocess.STDOUT)

    def stop(self, by=signal.SIGTERM):
        """A clean stop stores how far it came; SIGKILL does not."""
        self.process.send_signal(by)
        self.process.wait(120)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
