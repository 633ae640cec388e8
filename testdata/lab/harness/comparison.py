"""Holds what Kafka's own classes say of a segment and its producers (`Differential.java`) against what we
say: each function goes over one case and gives (reason, difference); the reason is "" where none is known.
"""
import base64

# Where we differ on purpose, and why.
REASONS = {
    "length-repaired": "a wrong length in a header: Kafka takes it and loses its way, we find the batch's true end by its checksum",
    "read-on": "a batch behind damage, which Kafka does not get to",
    "magic-repaired": "a wrong magic in a header: Kafka believes it, we try the format whose checksum fits",
    "negative": "a negative sequence or epoch in a header stands for none to us, whatever its value",
    "negative-delta": "a negative lastOffsetDelta: Kafka does not look at it when it reads records, to us the header is damage",
    "unknown-magic": "Kafka reads a batch of magic 3 and above as one of magic 2; to us it is damage, as to a consumer",
    "unknown-codec": "Kafka finds out at the records, we at the header",
    "marker-epoch": "a marker behind a producer's last batch began an epoch: Kafka forgets the batch, we list the epochs that wrote",
    "markers-alone": "a producer of whom there are only markers: it has a state to Kafka, to us no session",
    "largest-time": "Kafka keeps the time of a producer's last batch or marker, we the largest of a session's batches",
}
FIELDS = ("magic", "baseOffset", "lastOffset", "count", "baseSequence", "lastSequence", "producerId", "producerEpoch", "partitionLeaderEpoch", "isTransactional",
          "isControl", "maxTimestamp", "crc", "size", "isvalid", "deleteHorizonMs", "compresscodec")
ABSENT = {"baseSequence", "lastSequence", "producerEpoch", "count", "maxTimestamp", "deleteHorizonMs", "partitionLeaderEpoch"}     # we say null where Kafka says −1 or nothing
STATE = ("producerEpoch", "lastSequence", "lastOffset", "offsetDelta", "timestamp", "coordinatorEpoch", "currentTxnFirstOffset")


def compare(case, lines):
    """Every batch that one of the two reads, and every byte."""
    ours = {line["position"]: line for line in lines if line["type"] == "batch"}
    records, damage = {}, {}
    for line in lines:
        if line["type"] == "record":
            records.setdefault(line["position"], []).append(line)
        elif line["type"] == "damage":
            damage.setdefault(line["position"], line)
    yield from whole(case["size"], lines)
    astray = False      # whether Kafka follows a length that is wrong
    for theirs in case["batches"]:
        own, at = ours.get(theirs["position"]), theirs["position"]
        if own is None:
            yield from only_theirs(theirs, damage, astray)
        elif own["size"] != theirs["size"] and own["isvalid"] and not theirs["isvalid"]:
            yield "length-repaired", f"batch at {at}"
            astray = True
        else:
            astray = False
            if own["magic"] != theirs["magic"] and own["isvalid"] and not theirs["isvalid"]:
                yield "magic-repaired", f"batch at {at}"
            else:
                yield from compare_batch(theirs, own, records.get(at, []), damage)
    yield from only_ours(case, ours, damage)
    end = end_of(case)
    if end < case["size"] and not astray and not any(covers(line, end) for line in lines if line["type"] == "damage"):
        yield "", f"Kafka stops at {end} of {case['size']} ({case.get('stopped', 'silently')}); to us nothing is wrong there"
    elif end >= case["size"] and "stopped" in case and not damage:
        yield "", f"Kafka stops: {case['stopped']}; to us nothing is wrong"


def end_of(case):
    return max((batch["position"] + batch["size"] for batch in case["batches"]), default=0)


def covers(damage, position):
    return damage["position"] <= position < damage["position"] + damage.get("length", 1)


def whole(size, lines):
    """Our batches and our damage follow each other from the first byte to the last."""
    pieces = sorted((line["position"], line.get("size", line.get("length"))) for line in lines if line["type"] == "batch" or "length" in line)
    at = 0
    for position, length in pieces:
        if position != at:
            yield "", f"we say nothing of the bytes from {at} on, or twice; what follows begins at {position}"
            return
        at += length
    if at != size:
        yield "", f"we read {at} bytes; the segment has {size}"


def only_theirs(theirs, damage, astray):
    """A batch that Kafka reads where we have none."""
    at = theirs["position"]
    if at in damage:
        if theirs["magic"] > 2:
            yield "unknown-magic", f"batch at {at}"
        elif theirs["isvalid"] and "recordError" not in theirs:
            yield "negative-delta" if theirs["lastOffset"] < theirs["baseOffset"] else "", f"batch at {at} is sound to Kafka; to us {damage[at]['detail']}"
    elif astray and not theirs["isvalid"]:
        yield "length-repaired", f"batch at {at}"
    else:
        yield "", f"batch at {at} is neither read nor called damage"


def only_ours(case, ours, damage):
    """Batches that we read where Kafka has none: behind what we call damage, and where Kafka stopped
    or took a broken batch for a longer one."""
    theirs = {batch["position"]: batch for batch in case["batches"]}
    sound, end = 0, end_of(case)
    for at, own in sorted(ours.items()):
        if at in theirs:
            if theirs[at]["isvalid"] and theirs[at]["size"] == own["size"]:
                sound = at + own["size"]
            continue
        across = [batch for batch in case["batches"] if batch["position"] < at < batch["position"] + batch["size"]]
        unread = at >= end or across and not any(batch["isvalid"] for batch in across)
        told = any(sound <= position <= at for position in damage)
        yield "read-on" if unread and told else "", f"batch at {at} is read by us alone"


def compare_batch(theirs, ours, records, damage):
    at = theirs["position"]
    for field in FIELDS:
        reason = difference(field, theirs, ours) if field in theirs else None
        if reason is not None:
            yield reason, f"batch at {at}: {field} is {theirs[field]} to Kafka, to us {ours.get(field)}"
    if theirs["isvalid"] and "recordError" not in theirs:
        yield from compare_records(at, theirs["records"], records)
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
    return "unknown-codec" if field == "compresscodec" and theirs[field] == "unknown" and ours.get(field) is None else ""


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


def compare_producers(case, lines, answer):
    """Each producer that Kafka has a state of against what our dump and `producers` say of the log alone."""
    end = end_of(case)
    states, wrote = from_log(lines, end)
    yield from same_producers("the log", case["producers"], states)
    for theirs in case["producers"]:
        if theirs["producerId"] in states:
            yield from of_producer("in the log", theirs, states[theirs["producerId"]], STATE)
    if any(line["type"] == "batch" and line["position"] >= end for line in lines):
        yield "read-on", "`producers` knows more than Kafka"
        return
    known = {producer["producerId"]: producer for producer in answer["producers"]}
    yield from same_producers("`producers`", [theirs for theirs in case["producers"] if theirs["producerId"] in wrote], known)
    opened = {}
    for one in (one for finding in answer["findings"] if finding["code"] == "transaction-open" for one in finding["transactions"]):
        opened.setdefault(one["producerId"], []).append(one["firstOffset"])
    for theirs in case["producers"]:
        producer = theirs["producerId"]
        if producer in known and producer in wrote:
            yield from of_session(theirs, known[producer], opened.get(producer, []), wrote[producer])
        elif producer in states and producer not in wrote:
            yield "markers-alone", f"producer {producer}"


def from_log(lines, end):
    """What our reading of batches and markers in front of `end` amounts to: {producer: state}, and the
    batches of each."""
    states, wrote = {}, {}
    for line in lines:
        if "producerId" not in line or line["producerId"] < 0 or line["position"] >= end:
            continue
        state = states.get(line["producerId"], dict.fromkeys(STATE) | {"offsetDelta": 0})
        if line["type"] == "batch" and not line["isControl"]:
            states[line["producerId"]] = state
            wrote.setdefault(line["producerId"], []).append(line)
            state |= {name: line[name] for name in ("producerEpoch", "lastSequence", "lastOffset")}
            state |= {"offsetDelta": line["lastOffset"] - line["baseOffset"], "timestamp": line["maxTimestamp"]}
            if line["isTransactional"] and state["currentTxnFirstOffset"] is None:
                state["currentTxnFirstOffset"] = line["baseOffset"]
        elif "endTxnMarker" in line.get("control", {}):
            states[line["producerId"]] = state
            if line["producerEpoch"] != state["producerEpoch"]:
                state |= {"producerEpoch": line["producerEpoch"], "lastSequence": None, "lastOffset": None, "offsetDelta": 0}
            state |= {"coordinatorEpoch": line["control"]["coordinatorEpoch"], "timestamp": line["timestamp"], "currentTxnFirstOffset": None}
    return states, wrote


def of_session(theirs, producer, opened, wrote):
    """What `producers` says in its own words: the epoch that wrote last, the open transaction, the time."""
    session, epoch = max(((session, epoch) for session in producer["sessions"] for epoch in session["epochs"]), key=lambda pair: pair[1]["lastOffset"])
    told = {name: epoch[name] for name in ("producerEpoch", "lastSequence", "lastOffset")} | {"currentTxnFirstOffset": opened[0] if opened else None}
    want = theirs
    if theirs["lastOffset"] == -1:
        yield "marker-epoch", f"producer {theirs['producerId']}"
        want = theirs | {name: -1 if wrote[-1][name] is None else wrote[-1][name] for name in ("producerEpoch", "lastSequence", "lastOffset")}
    yield from of_producer("in `producers`", want, told, told)
    if len(opened) > 1 or bool(opened) != (session["endedBy"] == "open-transaction"):
        yield "", f"producer {theirs['producerId']}: its session ended by {session['endedBy']}; open transactions: {len(opened)}"
    times = [batch["maxTimestamp"] for batch in wrote if session["firstOffset"] <= batch["baseOffset"] <= session["lastOffset"]]
    largest = max(times, default=-1)
    if largest != (-1 if session["lastTimestamp"] is None else session["lastTimestamp"]):
        yield "", f"producer {theirs['producerId']}: the largest time of its session is {largest}; in `producers` {session['lastTimestamp']}"
    elif largest != theirs["timestamp"]:
        yield "largest-time", f"producer {theirs['producerId']}"


def of_producer(where, theirs, ours, fields):
    for field in fields:
        if (-1 if ours[field] is None else ours[field]) != theirs[field]:
            reason = "negative" if ours[field] is None and theirs[field] < -1 else ""
            yield reason, f"producer {theirs['producerId']} {where}: {field} is {theirs[field]} to Kafka, to us {ours[field]}"


def same_producers(where, theirs, ours):
    for producer in sorted({state["producerId"] for state in theirs} ^ set(ours)):
        yield "", f"producer {producer} is only {'in ' + where if producer in ours else 'to Kafka, not in ' + where}"


def compare_snapshot(theirs, entries, answer):
    """The snapshot that Kafka wrote of these producers: our reading of each field, what `producers` says of
    it, and whether it agrees with the log."""
    own = {entry["producerId"]: entry for entry in entries}
    told = {producer["producerId"]: producer["snapshots"] for producer in answer["producers"] if producer["snapshots"]}
    yield from same_producers("our dump of the snapshot", theirs, own)
    yield from same_producers("the snapshot in `producers`", theirs, told)
    for state in theirs:
        if entry := own.get(state["producerId"]):
            yield from of_producer("in our dump of the snapshot", state, entry, STATE)
        for snapshot in told.get(state["producerId"], []):
            names = {"producerEpoch": "epoch", "lastSequence": "lastSequence", "lastOffset": "lastOffset", "currentTxnFirstOffset": "transactionFirstOffset"}
            yield from of_producer("of the snapshot in `producers`", state, {field: snapshot[name] for field, name in names.items()}, names)
            if not snapshot["agrees"]:
                yield "", f"producer {state['producerId']}: the snapshot of Kafka's classes disagrees with the log: {snapshot['log']}"
    for finding in answer["findings"]:
        if finding["code"] == "snapshot-mismatch":
            yield "", f"snapshot: {finding.get('snapshots', finding['facts'])}"
