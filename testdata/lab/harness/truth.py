"""The label: every stored record is matched with the send that made it, and the cause of a copy
follows from what the scenario did. Nothing here is typed by hand and nothing looks at our own reader.
"""
import collections
import json

from . import stored
from .application import Send


def event(lab, record):
    """The business key of a stored record."""
    if lab.business_key == "record-key":
        return record.key
    if lab.business_key == "value":
        return record.value
    if lab.business_key.startswith("json:/"):
        return json.loads(record.value).get(lab.business_key[6:]) if record.value else None
    raise ValueError(lab.business_key)


def match(lab, records):
    """{place: send}; a record that no send acknowledged belongs to the send that was stored unseen, and
    each record of a mirror's topic was sent by the mirror."""
    # What an election lost gave its offsets to later sends.
    by_place = {(s.topic, s.partition, s.offset, s.key, s.value): s for s in lab.sends if s.offset is not None}
    made = {r.place: send for r in records if (send := by_place.get((*r.place, r.key, r.value)))}
    ids = {}
    for r in records:
        if r.place in made:
            ids.setdefault(made[r.place].session, set()).add(r.batch.producer_id)
    acknowledged = {id(s) for s in made.values()}
    for r in records:
        if r.place in made:
            continue
        if r.batch.topic in lab.mirrored:
            made[r.place] = Send(lab.tick(), "mirror", r.batch.topic, r.batch.partition, r.key, r.value, {}, "pipeline-replay")
            continue
        same = [s for s in lab.sends if (s.topic, s.key, s.value) == (r.batch.topic, r.key, r.value)]
        mine = [s for s in same if r.batch.producer_id in ids.get(s.session, {r.batch.producer_id})] or same
        unseen = [s for s in mine if id(s) not in acknowledged]
        if not (unseen or mine):
            raise RuntimeError(f"nobody sent {r.place} {r.key}")
        made[r.place] = (unseen or mine)[0]
        acknowledged.add(id(made[r.place]))
    return made


def cause(lab, earlier, record, made):
    """Why `record` repeats `earlier`."""
    first, again = made[earlier.place], made[record.place]
    a, b = earlier.batch, record.batch
    if (earlier.value, first.headers) != (record.value, again.headers) and not again.same_event:
        return "same-key-update"
    if first is again:
        if b.producer_id == -1:
            return "retry-without-idempotence"
        if a.producer_id == b.producer_id and a.producer_epoch != b.producer_epoch:
            return "epoch-bump-resend"
        return "broker-dedup-lost"
    if again.cause:
        return again.cause
    if earlier.outcome == "aborted":
        return "aborted-then-retried"
    if first.session == again.session:
        return "resend-same-session"
    return "concurrent-producers" if lab.opened[again.session] < first.number else "resend-new-session"


def is_returned(copies, earlier, record):
    """Whether the key had other content between two sends of one session: a state that came back looks
    like a second send."""
    between = copies[copies.index(earlier) + 1:copies.index(record)]
    return any(c.place[:2] == record.place[:2] and c.value != record.value for c in between)


def rivals(lab, earlier, record, made, code):
    """What the files of such a pair cannot exclude, whoever reads them."""
    if code == "concurrent-producers":
        # Only offsets tell who came first, so a session is seen to be open by what it wrote before the original in that
        # partition, or in another one before something that the original's session had sent by then.
        original, session = made[earlier.place], made[record.place].session
        witnesses = [place for place, s in made.items() if s.session == original.session and s.number <= original.number]
        written = [place for place, s in made.items() if s.session == session]
        if not any(w[:2] == seen[:2] and w[2] < seen[2] for seen in witnesses for w in written):
            return ["resend-new-session", "undetermined"]
    if code in ("resend-new-session", "resend-same-session", "concurrent-producers") and -1 in (earlier.batch.producer_id, record.batch.producer_id):
        return ["undetermined"]
    return []


def groups(lab, records, made):
    by_event = {}
    for r in records:
        if (key := event(lab, r)) is not None:
            by_event.setdefault((r.batch.topic, key), []).append(r)
    for (_, key), copies in by_event.items():
        copies.sort(key=lambda r: (r.batch.partition, r.offset) if len({c.batch.partition for c in copies}) == 1 else made[r.place].number)
        causes = {}
        for n, r in enumerate(copies[1:], 1):
            before = copies[:n]
            alike = [c for c in before if c.value == r.value] or before
            seen = [c for c in alike if c.outcome in ("", "committed")] if r.outcome in ("", "committed") else []
            earlier = (seen or alike)[-1]
            code = cause(lab, earlier, r, made)
            optional = code == "resend-same-session" and is_returned(copies, earlier, r)
            causes.setdefault((code, tuple(rivals(lab, earlier, r, made, code) + lab.also.get(code, [])), optional), []).append((earlier, r))
        for (code, also, optional), pairs in causes.items():
            group = {"businessKey": key, "cause": code, "copies": [place(pairs[0][0]), *(place(r) for _, r in pairs)]}
            if optional:
                group["optional"] = True
            if also:
                group["alsoAcceptable"] = list(also)
            if lab.not_certain:
                group["notCertain"] = True
            if lab.any_order:
                group["anyOrder"] = True
            yield group


def place(record):
    b = record.batch
    return {"topic": b.topic, "partition": b.partition, "offset": record.offset, "producerId": b.producer_id,
            "producerEpoch": b.producer_epoch, "sequence": record.sequence, "visibility": record.visibility}


def producers(batches):
    out = {}
    for b in batches:
        if b.producer_id < 0 or b.control or b.count <= 0:
            continue
        at = b.topic, b.partition, b.producer_id, b.producer_epoch
        entry = out.setdefault(at, dict(zip(("topic", "partition", "producerId", "producerEpoch"), at)) | {"records": 0, "firstSequence": b.base_sequence})
        entry["records"] += len(b.records)
        entry["lastSequence"] = b.last_sequence
    return list(out.values())


def gaps(lab, batches):
    """Sequences that are not in the files: what the cleaner took, and what was not given away."""
    seen, out = {}, []
    for b in batches:
        if b.producer_id < 0 or b.control:
            continue
        at = b.topic, b.partition, b.producer_id, b.producer_epoch
        expected = seen.get(at, -1) + 1
        if b.base_sequence > expected:      # a step back repeats, and nothing is missing
            reason = lab.gap_reasons.get(b.topic) or ("compaction" if b.topic in lab.compacted else "missing-segment")
            out.append({"topic": b.topic, "partition": b.partition, "producerId": b.producer_id, "atOffset": b.base_offset,
                        "expected": expected, "found": b.base_sequence, "reason": reason})
        seen[at] = b.last_sequence
    return out


def positions(commits):
    """The largest position of each group in each partition, and every step back."""
    last, highest, rewinds = {}, {}, []
    for group, topic, partition, offset in commits:
        at = group, topic, partition
        if offset < last.get(at, 0):
            rewinds.append({"group": group, "topic": topic, "partition": partition, "from": last[at], "to": offset})
        last[at], highest[at] = offset, max(offset, highest.get(at, 0))
    return {"positions": [dict(zip(("group", "topic", "partition", "highest"), (*at, offset))) for at, offset in highest.items()], "rewinds": rewinds}


def compared(lab, folders):
    """Where two replicas of one partition do not hold the same records of the same leader, offset by offset."""
    replicas = {}
    for folder in folders:
        for b in stored.read(lab.release, stored.logs([folder], lab.topics)):
            log = replicas.setdefault((b.topic, b.partition), {}).setdefault(folder.name, {})
            if b.control:
                log[b.base_offset] = (b.marker, b.producer_id, b.producer_epoch, b.leader_epoch)
            for r in b.records:
                log[r.offset] = (r.key, r.value, b.producer_id, b.producer_epoch, r.sequence, b.leader_epoch)
    out = []
    for (topic, partition), logs in sorted(replicas.items()):
        first, *others = sorted(logs)
        for other in others:
            differing = sorted(o for o in logs[first].keys() | logs[other].keys() if logs[first].get(o) != logs[other].get(o))
            out.append({"topic": topic, "partition": partition, "a": first, "b": other, "offsets": differing})
    return out


def mirrored(lab, records):
    """How often each topic that was mirrored is stored in its mirror beyond once a record."""
    out = []
    for mirror in sorted(lab.mirrored):
        source = mirror.removeprefix("east.")
        count = {name: [(r.key, r.value) for r in records if r.batch.topic == name] for name in (source, mirror)}
        out.append({"source": source, "mirror": mirror, "matched": len(set(count[source]) & set(count[mirror])),
                    "missing": len(set(count[source]) - set(count[mirror])), "repeated": len(count[mirror]) - len(set(count[mirror]))})
    return out


def reconciled(lab, records):
    """How many of the keys that were sent are stored once, more than once, and not at all; the ledger names them by record key."""
    if lab.business_key != "record-key" or any(s.key is None for s in lab.sends):
        return []
    stored_keys = collections.Counter((r.batch.topic, r.key) for r in records)
    out = []
    for topic in sorted({s.topic for s in lab.sends} & {r.batch.topic for r in records}):
        counts = [stored_keys[topic, key] for key in sorted({s.key for s in lab.sends if s.topic == topic})]
        out.append({"topic": topic, "storedOnce": counts.count(1), "storedMore": sum(c > 1 for c in counts), "missing": counts.count(0)})
    return out


def check_protection(lab, records, made):
    """Producer ids are where the settings of the producers ask for them, and nowhere else."""
    for r in records:
        wanted = lab.idempotent.get(made[r.place].session)
        if wanted is not None and wanted != (r.batch.producer_id >= 0):
            raise RuntimeError(f"{made[r.place].session} {'is' if wanted else 'is not'} idempotent, but {r.place} carries producer id {r.batch.producer_id}")


def check_codecs(lab, records, made):
    """Who was told to compress has done so in each topic; some libraries leave out batches that would not shrink."""
    written = {}
    for r in records:
        written.setdefault((made[r.place].session, r.batch.topic), set()).add(r.batch.codec)
    for (session, topic), codecs in written.items():
        wanted = lab.codecs.get(session)
        if wanted and wanted not in codecs:
            raise RuntimeError(f"{session} was told to compress with {wanted}, but wrote {', '.join(sorted(codecs))} to {topic}")


def log_starts(folders):
    """{(topic, partition): offset}; records before it are no longer a consumer's."""
    starts = {}
    for folder in folders:
        checkpoint = folder / "log-start-offset-checkpoint"
        for line in checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []:
            topic, partition, offset = line.rsplit(" ", 2)
            starts[topic, int(partition)] = int(offset)
    return starts


def check_against_consumer(lab, records):
    told = lab.consumed["readUncommitted"]["records"]
    if told != len(records):
        raise RuntimeError(f"a consumer read {told} records, the dump tool finds {len(records)}")


def label(lab, folders, replicas):
    """`folders` are those that consumers read, `replicas` all of them."""
    batches = stored.read(lab.release, stored.logs(folders, lab.topics))
    transactions = stored.outcomes(batches)
    starts = log_starts(folders)
    records = [r for b in batches if not b.control for r in b.records if r.offset >= starts.get((b.topic, b.partition), 0)]
    if lab.consumed and not lab.truth.get("skipConsumed"):
        check_against_consumer(lab, records)
    made = match(lab, records)
    check_protection(lab, records, made)
    check_codecs(lab, records, made)
    unprotected = [b for b in batches if b.producer_id < 0 and not b.legacy]
    truth = {
        "scenario": lab.name, "broker": f"Apache Kafka {lab.release}", "made": lab.made(), "story": lab.story, "businessKey": lab.business_key,
        "groups": list(groups(lab, records, made)), "producers": producers(batches),
        "unprotected": {"records": sum(len(b.records) for b in unprotected), "batches": len(unprotected)},
        "gaps": gaps(lab, batches), "transactions": transactions, "mustReport": [],
        "mirrored": mirrored(lab, records), "reconciled": reconciled(lab, records),
    }
    if lab.consumed:
        truth["consumed"] = lab.consumed
        truth["consumedTopics"] = sorted({b.topic for b in batches})
    if len(lab.brokers) > 1:
        truth["compared"] = compared(lab, replicas)
    return truth | positions(lab.commits) | lab.truth
