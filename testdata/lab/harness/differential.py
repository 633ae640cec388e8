"""Our reading of segments against that of Kafka's own classes: `Differential.java` makes segments, whole
and broken ones, and tells each batch, its validity and its records, and writes the snapshot that a
broker would write. We print the same segments, and audit those that come with a snapshot.
"""
import base64
import collections
import json
import re
import shutil
import subprocess

from . import jars, releases, verdict

# Where we differ on purpose, and why.
REASONS = {
    "length-repaired": "a wrong length in a header: Kafka takes it and loses its way, we find the batch's true end by its checksum and read on",
    "magic-repaired": "a wrong magic in a header: Kafka believes it, we try the format whose checksum fits",
    "negative": "a negative sequence or epoch in a header stands for none to us, whatever its value",
    "negative-delta": "a negative lastOffsetDelta: Kafka does not look at it when it reads records, to us the header is damage",
    "unknown-magic": "Kafka reads a batch of magic 3 and above as one of magic 2; to us it is damage, as to a consumer",
    "unknown-codec": "Kafka finds out at the records, we at the header",
}
FIELDS = ("baseOffset", "lastOffset", "count", "baseSequence", "lastSequence", "producerId", "producerEpoch", "partitionLeaderEpoch", "isTransactional",
          "isControl", "maxTimestamp", "crc", "size", "isvalid", "deleteHorizonMs", "compresscodec")
ABSENT = {"baseSequence", "lastSequence", "producerEpoch", "count", "maxTimestamp", "deleteHorizonMs", "partitionLeaderEpoch"}     # we say null where Kafka says −1 or nothing


def run(out, rounds, seed):
    """Compares `rounds` segments; 0 when all agree or differ for a reason that is known."""
    tool, folder = verdict.tool(), out / "differential"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = [p for p in sorted((verdict.ROOT / "testdata").glob("**/data*/*/*.log")) if p.stat().st_size and not p.parent.name.startswith("__")]
    made = subprocess.run(jars.java(releases.NEWEST_DUMP, "Differential", seed, rounds, folder, *sources), capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError(f"Kafka's classes failed: {made.stderr[-2000:]}")
    kafka = [json.loads(line) for line in made.stdout.splitlines()]
    reasons, unexplained, batches, records, snapshots = collections.Counter(), [], 0, 0, 0
    for first in range(0, len(kafka), 100):
        part = kafka[first:first + 100]
        ours = dumped(tool, [segment(folder, case["case"]) for case in part])
        for case in part:
            lines = ours.get(str(segment(folder, case["case"])), [])
            batches += len(case["batches"])
            records += sum(len(b.get("records", [])) for b in case["batches"])
            differences = list(compare(case, lines))
            if case.get("snapshot") and case["batches"]:
                snapshots += 1
                differences += snapshot_differences(tool, folder / str(case["case"]))
            for reason, what in differences:
                if reason in REASONS:
                    reasons[reason] += 1
                else:
                    unexplained.append((case["case"], case.get("change"), case.get("source"), what))
    print(f"{len(kafka)} segments, {batches} batches, {records} records, {snapshots} producer states compared with Kafka {releases.NEWEST_DUMP}")
    for reason, count in reasons.items():
        print(f"{count:6} {reason}: {REASONS[reason]}")
    print(f"{len(unexplained):6} unexplained differences")
    for case, change, source, what in unexplained[:20]:
        print(f"  {segment(folder, case)}: {change}: {what}" + (f" ({source})" if source else ""))
    return 1 if unexplained else 0


def segment(folder, case):
    return folder / str(case) / "t-0/00000000000000000000.log"


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


def compare(case, lines):
    """(reason, difference) for every batch that Kafka's classes read."""
    batches = {line["position"]: line for line in lines if line["type"] == "batch"}
    records, damage = {}, {}
    for line in lines:
        if line["type"] in ("record", "marker", "control"):
            records.setdefault(line["position"], []).append(line)
        elif line["type"] == "damage":
            damage.setdefault(line["position"], line)
    for theirs in case["batches"]:
        ours, at = batches.get(theirs["position"]), theirs["position"]
        if ours is None:
            if theirs["magic"] > 2:
                yield "unknown-magic", f"batch at {at}"
            elif at not in damage:
                yield "", f"batch at {at} is neither read nor called damage"
            elif theirs["isvalid"] and "recordError" not in theirs:
                yield "negative-delta" if theirs["lastOffset"] < theirs["baseOffset"] else "", f"batch at {at} is sound to Kafka; to us {damage[at]['detail']}"
            continue
        if ours["size"] != theirs["size"] and ours["isvalid"] and not theirs["isvalid"]:
            yield "length-repaired", f"batch at {at}"
            return
        if ours["magic"] != theirs["magic"] and ours["isvalid"] and not theirs["isvalid"]:
            yield "magic-repaired", f"batch at {at}"
            continue
        for field in FIELDS:
            reason = difference(field, theirs, ours) if field in theirs else None
            if reason is not None:
                yield reason, f"batch at {at}: {field} is {theirs[field]} to Kafka, to us {ours.get(field)}"
        if theirs["isvalid"] and "recordError" not in theirs and not theirs.get("isControl"):
            yield from compare_records(at, theirs["records"], records.get(at, []))
        if theirs["isvalid"] and "recordError" in theirs and at not in damage:
            yield "", f"batch at {at}: {theirs['recordError']} to Kafka; to us its records are sound"


def difference(field, theirs, ours):
    """None where both say the same, else the reason, or "" """
    if ours.get(field) == theirs[field]:
        return None
    if field in ABSENT and ours.get(field) is None:
        # Kafka counts on from a negative base sequence, too.
        negative = theirs[field] is not None and theirs[field] < 0 or field == "lastSequence" and theirs["baseSequence"] < -1
        return None if theirs[field] in (-1, None) else "negative" if negative else ""
    return "unknown-codec" if theirs["compresscodec"] == "unknown" else ""


def compare_records(at, theirs, ours):
    if len(theirs) != len(ours):
        yield "", f"batch at {at}: {len(theirs)} records to Kafka, to us {len(ours)}"
        return
    for a, b in zip(theirs, ours):
        headers = [[content(h["key"]), content(h["value"])] for h in b["headers"]]
        told = (b["offset"], -1 if b["timestamp"] is None else b["timestamp"], -1 if b["sequence"] is None else b["sequence"], content(b["key"]), content(b["value"]), headers)
        want = (a["offset"], a["timestamp"], a["sequence"], a["key"], a["value"], [[content({"text": name}), value] for name, value in a["headers"]])
        if told != want:
            field = next(n for n in range(len(want)) if told[n] != want[n])
            yield "", f"record {a['offset']} in the batch at {at}: {str(want[field])[:60]} to Kafka, to us {str(told[field])[:60]}"
            return


def content(told):
    """Bytes as our dump prints them, in base 64."""
    if told is None:
        return None
    return told["base64"] if "base64" in told else base64.b64encode(told["text"].encode()).decode()


def snapshot_differences(tool, folder):
    """What our own account of the producers says about the snapshot that Kafka's classes wrote."""
    done = subprocess.run([tool, "scan", folder, "--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        return [("", f"scan: exit status {done.returncode}: {done.stderr[-300:]}")]
    found = [f for f in json.loads(done.stdout)["findings"] if f["code"] == "snapshot-mismatch"]
    return [("", f"snapshot: {json.dumps(f.get('snapshots', f['facts']))[:300]}") for f in found]
