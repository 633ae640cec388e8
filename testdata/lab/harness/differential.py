"""Our reading of segments against that of Kafka's own classes: `Differential.java` makes segments, whole
and broken ones, and tells each batch, its validity and its records, the state of each producer, and writes
the snapshot that a broker would write. We print the same segments and snapshots, and audit their producers
with and without the snapshot. `comparison.py` says what may differ.
"""
import collections
import io
import json
import re
import shutil
import subprocess
import unittest

from . import comparison, comparison_test, jars, releases, verdict


def run(out, rounds, seed):
    """Compares `rounds` segments; 0 when all agree or differ for a reason that is known."""
    blind = unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromModule(comparison_test))
    if not blind.wasSuccessful():
        raise RuntimeError(f"the comparison does not see every difference: {(blind.failures + blind.errors)[0][1]}")
    tool, folder = verdict.tool(), out / "differential"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = [p for p in sorted((verdict.ROOT / "testdata").glob("**/data*/*/*.log")) if p.stat().st_size and not p.parent.name.startswith("__")]
    made = subprocess.run(jars.java(releases.NEWEST_DUMP, "Differential", seed, rounds, folder, *sources), capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError(f"Kafka's classes failed: {made.stderr[-2000:]}")
    kafka = [json.loads(line) for line in made.stdout.splitlines()]
    reasons, unexplained, batches, records, producers = collections.Counter(), [], 0, 0, 0
    for first in range(0, len(kafka), 100):
        part = kafka[first:first + 100]
        ours = dumped(tool, [file for case in part for file in files(folder, case["case"])])
        for case in part:
            lines = ours.get(str(segment(folder, case["case"])), [])
            batches += len(case["batches"])
            records += sum(len(b.get("records", [])) for b in case["batches"])
            differences = list(comparison.compare(case, lines))
            if "producers" in case:
                producers += len(case["producers"])
                differences += comparison.compare_producers(case, lines, audited(tool, segment(folder, case["case"])))
                entries = [line for file in files(folder, case["case"]) for line in ours.get(str(file), []) if line["type"] == "snapshotEntry"]
                differences += comparison.compare_snapshot(case["producers"], entries, audited(tool, segment(folder, case["case"]).parent))
            for reason, what in differences:
                if reason:
                    reasons[reason] += 1
                else:
                    unexplained.append((case["case"], case.get("change"), case.get("source"), what))
    print(f"{len(kafka)} segments, {batches} batches, {records} records, {producers} producers compared with Kafka {releases.NEWEST_DUMP}")
    for reason, count in reasons.items():
        print(f"{count:6} {reason}: {comparison.REASONS[reason]}")
    print(f"{len(unexplained):6} unexplained differences")
    for case, change, source, what in unexplained[:20]:
        print(f"  {segment(folder, case)}: {change}: {what}" + (f" ({source})" if source else ""))
    return 1 if unexplained else 0


def segment(folder, case):
    return folder / str(case) / "t-0/00000000000000000000.log"


def files(folder, case):
    """The segment and its snapshot."""
    return sorted(segment(folder, case).parent.iterdir())


def dumped(tool, files):
    """{file: the lines of our dump about it}"""
    done = subprocess.run([tool, "dump", "--format", "ndjson", *files], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"dump: exit status {done.returncode}: {done.stderr[-1000:]}")
    found = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        found.setdefault(told["file"], []).append(told)
    for line in done.stderr.splitlines():       # what is wrong with the records of a batch
        if m := re.match(r"(.*?) at (\d+): (.*)", line):
            found.setdefault(m[1], []).append({"type": "damage", "position": int(m[2]), "detail": m[3]})
    return found


def audited(tool, path):
    """What we say of the producers in a directory, or in a segment alone."""
    done = subprocess.run([tool, "producers", path, "--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"producers: exit status {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout)
