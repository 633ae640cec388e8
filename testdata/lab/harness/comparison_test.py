"""That the comparison sees a difference where there is one: hand-made cases, each with one thing wrong. `lab
differential` runs them before it begins."""
import copy
import unittest

from . import comparison


def batch(position, size=100, **fields):
    """A batch as both sides tell it."""
    first = position // 100
    return {"position": position, "size": size, "magic": 2, "baseOffset": first, "lastOffset": first, "count": 1, "baseSequence": first, "lastSequence": first,
            "producerId": 7, "producerEpoch": 0, "partitionLeaderEpoch": 0, "isTransactional": False, "isControl": False, "maxTimestamp": 1000 + first,
            "crc": 1, "isvalid": True, "compresscodec": "none"} | fields


def theirs(position, size=100, **fields):
    told = batch(position, size, **fields)
    return told | {"records": [{"offset": told["baseOffset"], "timestamp": 5, "sequence": told["baseSequence"], "key": None, "value": "eA==", "headers": []}]}


def ours(position, size=100, **fields):
    told = {"type": "batch"} | batch(position, size, **fields)
    record = {"type": "record", "position": position, "offset": told["baseOffset"], "timestamp": 5, "sequence": told["baseSequence"], "key": None,
              "value": {"text": "x"}, "headers": [], "producerId": told["producerId"], "producerEpoch": told["producerEpoch"]}
    return [told, record]


def bad(position, length=None, detail="bad-length"):
    return {"type": "damage", "position": position, "detail": detail} | ({} if length is None else {"length": length})


def case(*batches, size, **fields):
    return {"batches": list(batches), "size": size} | fields


class Batches(unittest.TestCase):
    def reasons(self, told, *lines):
        return [reason for reason, _ in comparison.compare(told, [line for one in lines for line in (one if isinstance(one, list) else [one])])]

    def test_equal_readings_do_not_differ(self):
        self.assertEqual(self.reasons(case(theirs(0), theirs(100), size=200), ours(0), ours(100)), [])

    def test_each_field_and_each_record_counts(self):
        for field in comparison.FIELDS:
            if field in batch(0):
                other = theirs(0) | {field: {"isvalid": True, "compresscodec": "lz4"}.get(field, 99)}
                mine = ours(0) if field != "isvalid" else ours(0, isvalid=False)
                self.assertIn("", self.reasons(case(other, size=100), mine), field)
        for field in ("offset", "timestamp", "sequence", "key", "value", "headers"):
            other = theirs(0)
            other["records"][0][field] = {"key": "eQ==", "value": None, "headers": [["h", None]]}.get(field, 99)
            self.assertEqual(self.reasons(case(other, size=100), ours(0)), [""], field)
        self.assertEqual(self.reasons(case(theirs(0), size=100), ours(0)[:1]), [""])
        self.assertEqual(self.reasons(case(theirs(0, isvalid=False), size=100), ours(0, isvalid=False)[:1], bad(0)), [])

    def test_a_batch_that_only_we_read_needs_damage_in_front_of_it(self):
        stopped = case(theirs(0), size=300, stopped="CorruptRecordException")
        self.assertEqual(self.reasons(stopped, ours(0), bad(100, 100), ours(200)), ["read-on"])
        self.assertIn("", self.reasons(stopped, ours(0), ours(100), ours(200)))
        # Damage further in front, with a sound batch between.
        self.assertIn("", self.reasons(case(theirs(100), size=300), bad(0, 100), ours(100), ours(200)))

    def test_a_batch_inside_one_that_is_sound_to_kafka_is_invented(self):
        def alone(told, *positions, damage=(100,)):
            return [reason for reason, _ in comparison.only_ours(told, {at: ours(at)[0] for at in positions}, dict.fromkeys(damage))]
        self.assertEqual(alone(case(theirs(0), theirs(100, 200), size=300), 0, 100, 200), [""])
        self.assertEqual(alone(case(theirs(0), theirs(100, 200, isvalid=False), size=300), 0, 100, 200), ["read-on"])
        # Not even behind Kafka's end, where the damage lies in front of a batch that both read.
        self.assertEqual(alone(case(theirs(0), theirs(100), theirs(200), size=400), 0, 100, 200, 300), [""])
        self.assertEqual(alone(case(theirs(0), size=200), 0, 100), ["read-on"])

    def test_a_wrong_magic_is_repaired_where_kafka_finds_no_sound_batch(self):
        self.assertEqual(self.reasons(case(theirs(0, magic=1, isvalid=False), size=100), ours(0), bad(0)), ["magic-repaired"])
        self.assertIn("", self.reasons(case(theirs(0, magic=1), size=100), ours(0)))
        self.assertIn("", self.reasons(case(theirs(0, isvalid=False), size=100), ours(0), bad(0)))

    def test_a_negative_number_stands_for_none(self):
        for number, reasons in ((-7, ["negative"]), (-1, []), (0, [""]), (7, [""])):
            self.assertEqual(self.reasons(case(theirs(0, producerEpoch=number), size=100), ours(0, producerEpoch=None)), reasons)
        # Kafka counts on from −7 to 2.
        self.assertEqual(comparison.difference("lastSequence", theirs(0, lastSequence=2, baseSequence=-7), ours(0, lastSequence=None)[0]), "negative")
        self.assertEqual(comparison.difference("lastSequence", theirs(0, lastSequence=2, baseSequence=-1), ours(0, lastSequence=None)[0]), "")

    def test_the_rest_behind_a_repaired_length_is_compared(self):
        wrong = theirs(100, 250, isvalid=False)
        told = case(theirs(0), wrong, theirs(350, 50, isvalid=False), theirs(400), size=500)
        lines = [ours(0), ours(100), bad(100), ours(200), ours(300), ours(400)]
        self.assertEqual(self.reasons(told, *lines), ["length-repaired", "length-repaired", "read-on", "read-on"])
        self.assertIn("", self.reasons(told, *lines[:-1], ours(400, crc=2)))
        self.assertIn("", self.reasons(case(theirs(0), wrong, theirs(350, 50), theirs(400), size=500), *lines))

    def test_where_kafka_stops_we_name_damage(self):
        self.assertEqual(self.reasons(case(theirs(0), size=150), ours(0), bad(100, 50)), [])
        self.assertEqual(self.reasons(case(theirs(0), size=150, stopped="CorruptRecordException"), ours(0), ours(100, 50)), ["", ""])
        self.assertEqual(self.reasons(case(theirs(0), size=100, stopped="IOException"), ours(0)), [""])
        self.assertIn("", self.reasons(case(theirs(0), size=150), bad(0, 100), ours(100, 50)))

    def test_every_byte_is_told_once(self):
        self.assertEqual(self.reasons(case(theirs(0), size=150), ours(0), bad(100, 40)), [""])
        self.assertEqual(self.reasons(case(theirs(0), theirs(100), size=200), ours(0), bad(100, 50), ours(100)), [""])

    def test_a_batch_that_only_kafka_reads(self):
        self.assertIn("", self.reasons(case(theirs(0), theirs(100), size=200), ours(0)))
        self.assertEqual(self.reasons(case(theirs(0), theirs(100), size=200), ours(0), bad(100, 100)), [""])
        self.assertEqual(self.reasons(case(theirs(0), theirs(100, magic=3), size=200), ours(0), bad(100, 100)), ["unknown-magic"])
        self.assertEqual(self.reasons(case(theirs(0), theirs(100, isvalid=False), size=200), ours(0), bad(100, 100)), [])

    def test_an_unknown_codec_excuses_itself_alone(self):
        unknown = theirs(0, compresscodec="unknown", recordError="IllegalArgumentException")
        self.assertEqual(self.reasons(case(unknown, size=100), ours(0, compresscodec=None), bad(0)), ["unknown-codec"])
        self.assertEqual(self.reasons(case(unknown, size=100), ours(0, compresscodec="lz4"), bad(0)), [""])
        self.assertEqual(self.reasons(case(unknown, size=100), ours(0, compresscodec=None, lastOffset=9), bad(0)), ["", "unknown-codec"])

    def test_a_record_that_kafka_cannot_read_is_damage_to_us(self):
        broken = theirs(0, recordError="InvalidRecordException")
        self.assertEqual(self.reasons(case(broken, size=100), ours(0), bad(0, detail="records: …")), [])
        self.assertEqual(self.reasons(case(broken, size=100), ours(0)), [""])


class Producers(unittest.TestCase):
    """Producer 7 wrote sequences 0 and 1 and has a transaction open since the second; 8 has ended its own."""
    LINES = (*ours(0), *ours(100, isTransactional=True), *ours(200, producerId=8, isTransactional=True), ours(300, producerId=8, isControl=True)[0],
             ours(300, producerId=8)[1] | {"control": {"endTxnMarker": "COMMIT", "coordinatorEpoch": 4}, "timestamp": 1003})
    STATES = ({"producerId": 7, "producerEpoch": 0, "lastSequence": 1, "lastOffset": 1, "offsetDelta": 0, "timestamp": 1001, "coordinatorEpoch": -1, "currentTxnFirstOffset": 1},
              {"producerId": 8, "producerEpoch": 0, "lastSequence": 2, "lastOffset": 2, "offsetDelta": 0, "timestamp": 1003, "coordinatorEpoch": 4, "currentTxnFirstOffset": -1})
    CASE = {"batches": [theirs(at) for at in (0, 100, 200, 300)], "size": 400}

    def session(self, first, last, sequence, time, ended):
        epochs = [{"producerEpoch": 0, "lastSequence": sequence, "lastOffset": last}]
        return {"firstOffset": first, "lastOffset": last, "lastTimestamp": time, "endedBy": ended, "epochs": epochs}

    def answer(self):
        def snapshot(sequence, offset, first):
            return {"epoch": 0, "lastSequence": sequence, "lastOffset": offset, "transactionFirstOffset": first, "agrees": True, "log": None}
        return {"producers": [{"producerId": 7, "sessions": [self.session(0, 1, 1, 1001, "open-transaction")], "snapshots": [snapshot(1, 1, 1)]},
                              {"producerId": 8, "sessions": [self.session(2, 2, 2, 1002, "log-end")], "snapshots": [snapshot(2, 2, None)]}],
                "findings": [{"code": "transaction-open", "transactions": [{"producerId": 7, "firstOffset": 1}]}]}

    def entries(self):
        return [{name: None if value == -1 else value for name, value in state.items()} for state in self.STATES]

    def log(self, states, answer=None, lines=LINES):
        return [reason for reason, _ in comparison.compare_producers(self.CASE | {"producers": states}, lines, answer or self.answer())]

    def snapshot(self, states, entries=None, answer=None):
        return [reason for reason, _ in comparison.compare_snapshot(states, entries or self.entries(), answer or self.answer())]

    def test_equal_states_do_not_differ(self):
        self.assertEqual(self.log(self.STATES), ["largest-time"])
        self.assertEqual(self.snapshot(self.STATES), [])

    def test_each_field_of_a_state_counts(self):
        for at, state in enumerate(self.STATES):
            for field in comparison.STATE:
                states = list(copy.deepcopy(self.STATES))
                states[at][field] = state[field] + 5
                self.assertIn("", self.log(states), field)
                self.assertIn("", self.snapshot(states), field)

    def test_a_producer_too_many_or_too_few(self):
        for states in (self.STATES[:1], self.STATES[1:], (*self.STATES, self.STATES[0] | {"producerId": 9})):
            self.assertIn("", self.log(states))
            self.assertIn("", self.snapshot(states))
        for at in (0, 1):
            answer = self.answer()
            del answer["producers"][at]
            self.assertIn("", self.log(self.STATES, answer))
            self.assertIn("", self.snapshot(self.STATES, answer=answer))
            self.assertIn("", self.snapshot(self.STATES, self.entries()[at:at + 1]))

    def test_each_word_of_the_answer_counts(self):
        def changed(where, value):
            answer = self.answer()
            place = answer["producers"][0]
            for name in where[:-1]:
                place = place[name]
            place[where[-1]] = value
            return answer
        first = ("sessions", 0)
        for where, value in (((*first, "endedBy"), "log-end"), ((*first, "lastTimestamp"), 1002), ((*first, "epochs", 0, "lastSequence"), 0),
                             ((*first, "epochs", 0, "lastOffset"), 0), ((*first, "epochs", 0, "producerEpoch"), 1)):
            self.assertIn("", self.log(self.STATES, changed(where, value)), where)
        for field, value in (("epoch", 1), ("lastSequence", 0), ("lastOffset", 0), ("transactionFirstOffset", None), ("agrees", False)):
            self.assertIn("", self.snapshot(self.STATES, answer=changed(("snapshots", 0, field), value)), field)

    def test_open_transactions_count(self):
        none, two, invented = self.answer(), self.answer(), self.answer()
        none["findings"] = []
        two["findings"][0]["transactions"] *= 2
        invented["findings"][0]["transactions"].append({"producerId": 8, "firstOffset": 2})
        for answer in (none, two, invented):
            self.assertIn("", self.log(self.STATES, answer))

    def test_a_mismatch_that_we_find_counts(self):
        answer = self.answer()
        answer["findings"].append({"code": "snapshot-mismatch", "facts": []})
        self.assertEqual(self.snapshot(self.STATES, answer=answer), [""])

    def test_a_marker_that_began_an_epoch(self):
        marker = self.LINES[-1] | {"producerEpoch": 1}
        bumped = self.STATES[1] | {"producerEpoch": 1, "lastSequence": -1, "lastOffset": -1}
        self.assertEqual(self.log((self.STATES[0], bumped), lines=(*self.LINES[:-1], marker)), ["marker-epoch", "largest-time"])
        self.assertIn("", self.log((self.STATES[0], bumped)))
        alone = (*self.LINES[:4], *self.LINES[-2:-1], marker)
        answer = self.answer()
        del answer["producers"][1]
        self.assertEqual(self.log((self.STATES[0], bumped), answer, alone), ["markers-alone"])
        self.assertIn("", self.log(self.STATES, lines=(*self.LINES[:-1], marker)))

    def test_a_segment_that_we_read_further_has_the_state_where_kafka_stopped(self):
        further = (*self.LINES, *ours(400, producerId=9))
        self.assertEqual(self.log(self.STATES, lines=further), ["read-on"])
        self.assertEqual(self.log((self.STATES[0] | {"lastSequence": 0}, self.STATES[1]), lines=further), ["", "read-on"])
