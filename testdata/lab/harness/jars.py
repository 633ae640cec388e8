"""Kafka's jars, and our small Java programs compiled against them."""
import pathlib
import subprocess

from . import releases

HERE = pathlib.Path(__file__).resolve().parent.parent
CACHE = HERE.parent.parent / "target/lab"
# Oldest names that every release still has, or that only newer ones call: `Client.java` asks for the
# release where a call was renamed, and the JVM links a call when it is made.
COMPILED_AGAINST = {"Client.java": "2.8.2", "Dump.java": "2.8.2"}


def dependency(artifact):
    group, name, version = artifact.split(":")
    return f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"


def libs(release, wanted=releases.artifacts):
    """The directory with the jars of a release; fetched with Maven once."""
    folder = CACHE / (f"jars-{release}" if wanted is releases.artifacts else f"{wanted.__name__}-{release}")
    if not (folder / ".complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pom = folder / "pom.xml"
        pom.write_text('<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>lab</groupId>'
                       f"<artifactId>jars</artifactId><version>1</version><dependencies>{''.join(map(dependency, wanted(release)))}</dependencies></project>")
        subprocess.run(["mvn", "-q", "-B", "-Dstyle.color=never", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={folder}"], check=True)
        (folder / ".complete").touch()
    return folder


def classes(source):
    """Where one of our programs is compiled."""
    source = HERE / "clients" / source
    release = COMPILED_AGAINST.get(source.name, releases.NEWEST_DUMP)
    folder = CACHE / "classes" / source.stem
    stamp = folder / ".complete"
    if not stamp.exists() or stamp.stat().st_mtime < source.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["javac", "-nowarn", "-Xlint:-deprecation", "-d", folder, "-cp", f"{libs(release)}/*", source], check=True, capture_output=True)
        stamp.touch()
    return folder


def java(release, main, *arguments, heap="200m", wanted=releases.artifacts):
    """The command line of a Java program with Kafka's jars of a release."""
    small = [f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dzookeeper.jmx.log4j.disable=true"]
    own = f"{classes(main + '.java')}:" if (HERE / "clients" / f"{main}.java").exists() else ""
    return ["java", *small, "-cp", f"{own}{libs(release, wanted)}/*", main, *map(str, arguments)]
