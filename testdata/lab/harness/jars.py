"""Kafka's jars, and our small Java programs compiled against them."""
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


def class_path(version):
    """The class path of a release; fetched with Maven once, compiled once."""
    libs = subprocess.run([ROOT / "benches/lab/jars", version], check=True, capture_output=True, text=True).stdout.strip()
    classes = ROOT / "target/lab" / f"classes-{version}"
    sources = [HERE / "clients" / name for name in ("Client.java", "Dump.java")]
    newest = max(source.stat().st_mtime for source in sources)
    if not classes.is_dir() or classes.stat().st_mtime < newest:
        classes.mkdir(parents=True, exist_ok=True)
        subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", libs, *sources], check=True)
        classes.touch()
    return f"{classes}:{libs}"


def java(version, main, *arguments, heap="200m", options=()):
    """The command line of a Java program with Kafka's jars of a release."""
    small = [f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
    return ["java", *small, *options, "-cp", class_path(version), main, *map(str, arguments)]
