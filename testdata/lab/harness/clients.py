"""Client libraries: how each is fetched and built (once, into the cache) and started."""
import json
import re
import shutil
import subprocess
import sys

from . import jars

# What scenarios call a library, and what its makers call it.
PACKAGES = {
    "java": "kafka-clients", "confluent": "confluent-kafka", "kafka_python": "kafka-python", "aio_kafka": "aiokafka",
    "kafkajs": "kafkajs", "franz": "github.com/twmb/franz-go", "sarama": "github.com/IBM/sarama",
}
LIBRARIES = tuple(PACKAGES)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SOURCES = jars.HERE / "clients"


def command(library, release):
    """The command line of a client program; `release` is that of the Java client."""
    if library == "java":
        return jars.java(release, "Client", release)
    if library in ("franz", "sarama"):
        return [_go(), library]
    if library == "kafkajs":
        return ["node", _node() / "kafkajs.js"]
    return [_python(), SOURCES / f"{library}.py"]


def version(library, release):
    """Name and version of a library; `release` is that of the Java client."""
    package = PACKAGES[library]
    if library == "java":
        return f"{package} {release}"
    if library == "kafkajs":
        return f"{package} {json.loads((SOURCES / 'package.json').read_text())['dependencies'][package]}"
    pinned = SOURCES / ("go/go.mod" if library in ("franz", "sarama") else "requirements.txt")
    found = re.search(rf"^\s*{re.escape(package)}(?:==| v)(\S+)", pinned.read_text(), re.MULTILINE)
    return f"{package} {found[1]}"


def _once(folder, sources, make):
    stamp = folder / ".complete"
    if not stamp.exists() or stamp.stat().st_mtime < max(s.stat().st_mtime for s in sources):
        folder.mkdir(parents=True, exist_ok=True)
        make()
        stamp.touch()
    return folder


def _python():
    wanted, folder = SOURCES / "requirements.txt", jars.CACHE / "python"

    def make():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", "-r", wanted], check=True)
    return _once(folder, [wanted], make) / "bin/python"


def _node():
    sources, folder = [SOURCES / "package.json", SOURCES / "kafkajs.js"], jars.CACHE / "node"

    def make():
        for source in sources:
            shutil.copy(source, folder)
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts"], cwd=folder, check=True)
    return _once(folder, sources, make)


def _go():
    source, folder = SOURCES / "go", jars.CACHE / "go"

    def make():
        subprocess.run(["go", "build", "-o", folder / "client", "."], cwd=source, check=True)
    return _once(folder, list(source.glob("*.go")) + [source / "go.mod"], make) / "client"
