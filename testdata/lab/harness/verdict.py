"""What the audit says about each folder, held against its label by the same code as the tests of the
repository use (`tests/score`)."""
import json
import os
import re
import subprocess

from . import jars

ROOT = jars.HERE.parent.parent
DIFFERENCES = jars.HERE / "differences.json"


def tool():
    """The audit, built as it stands."""
    subprocess.run(["cargo", "build", "--quiet", "--locked"], cwd=ROOT, check=True)
    return ROOT / "target/debug/dedup-audit"


def judged(out, names):
    """{folder: (copies under another code that the label accepts, what is wrong or "")}"""
    environment = os.environ | {"DEDUP_AUDIT_LABELLED": str(out.resolve()), "DEDUP_AUDIT_LABELLED_NAMES": ",".join(names)}
    command = ["cargo", "test", "--quiet", "--locked", "--test", "score", "--", "--ignored", "--exact", "directories_of_the_laboratory", "--nocapture"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = [line.split("\t", 3)[1:] for line in done.stdout.splitlines() if line.startswith("verdict\t")]
    if {line[0] for line in lines} != set(names):
        raise RuntimeError(f"not every folder was judged: {done.stdout[-500:]} {done.stderr[-2000:]}")
    return {name: (int(others), bad) for name, others, bad in lines}


def table(out, names=None):
    """Prints scenario, release, copies and verdict; 0 when each is equal to its label or explained."""
    names = sorted(t.parent.name for t in out.glob("*/truth.json")) if names is None else [n for n in names if (out / n / "truth.json").exists()]
    if not names:
        print("no folder to judge")
        return 1
    explained = json.loads(DIFFERENCES.read_text()) if DIFFERENCES.exists() else {}
    verdicts, wrong, releases, differing, loose = judged(out, names), 0, set(), 0, 0
    print(f"{'scenario':56} {'broker':9} {'copies':>6}  verdict")
    for name in names:
        label = json.loads((out / name / "truth.json").read_text())
        release = label["broker"].split()[-1]
        releases.add(release)
        copies = sum(len(g["copies"]) - 1 for g in label["groups"] if g["cause"] != "same-key-update")
        why = next((text for pattern, text in explained.items() if re.fullmatch(pattern, name)), None)
        others, bad = verdicts[name]
        loose += others
        if not bad:
            said = f"as labelled, {others} under another code that no file excludes" if others else "as labelled"
        elif why:
            differing += 1
            said = f"differs: {why}"
        else:
            wrong += 1
            said = f"WRONG: {bad}"
        print(f"{name:56} {release:9} {copies:6}  {said}")
    print(f"{len(names)} runs, {len(releases)} broker versions: {len(names) - wrong - differing} as labelled, {differing} explained, {wrong} wrong; {loose} copies under another code that the label accepts")
    return 1 if wrong else 0
