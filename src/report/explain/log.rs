//! Sequences and offsets that are missing, files that contradict each other, and transactions.

use super::Explanation;
use crate::finding::Code;

pub(super) const SEQUENCE_GAP: Explanation = Explanation {
    code: Code::SequenceGap,
    meaning: "sequences of a producer are missing, and nothing innocent explains it",
    shows: "Between two batches of one producer id and epoch in one partition sequence numbers are missing, or a \
            segment file is. A producer numbers its records without a gap and a broker refuses a batch that does \
            not follow, so these records were once in this log, or the broker stored what it should have refused. \
            Retention, a moved log start, compaction, a new epoch, expiry and bytes that cannot be read were \
            tested and do not explain it.",
    innocent: &[
        "All known innocent reasons were tested; those that hold are reported as sequence-gap-explained.",
        "If the directory was copied while the broker wrote, or not completely, the copy lacks what the broker has.",
    ],
    evidence: &[
        "the batch before and the batch behind the gap, with sequences and offsets",
        "whether offsets are missing at the same place",
        "the segment files that are there and those that should be",
    ],
    next: &[
        "Compare with another replica: `compare` shows whether it holds the records.",
        "Hold the producer's list of sent keys against the log with `reconcile`.",
        "Keep the files as they are: a broker that starts may cut them and lower its checkpoints without a word.",
    ],
};

pub(super) const SEQUENCE_GAP_EXPLAINED: Explanation = Explanation {
    code: Code::SequenceGapExplained,
    meaning: "sequences are missing where something innocent explains it, or nobody can tell whether any are",
    shows: "Sequence numbers of a producer are missing, and something innocent explains it. Nothing to worry about (info): \
            retention or DeleteRecords removed the head of the log, the cleaner was there and may have removed \
            superseded records, the producer went to a new epoch, or the bytes cannot be read and the coverage names \
            them. Not checkable \
            (low): the broker did not know the producer, because it had expired, its state was lost, or this was \
            its first batch here; then it accepts any sequence, and records may be missing or not.",
    innocent: &[
        "This is the innocent explanation. `low` means that the files cannot exclude a loss, not that there is one.",
    ],
    evidence: &[
        "each gap with its reason",
        "the log start, the cleaner's position, pauses and leader changes that speak for it",
    ],
    next: &[
        "Reasons at info need nothing.",
        "For expired, lost or first-append gaps the client's log of that time tells whether it gave records up; \
         `reconcile` tells from a list of sent keys.",
    ],
};

pub(super) const SEQUENCE_ANOMALY: Explanation = Explanation {
    code: Code::SequenceAnomaly,
    meaning: "sequences overlap, step back inside an epoch, or an epoch goes down",
    shows: "Batches of one producer stand in an order that a leader with a working memory refuses: a range that \
            partly overlaps an earlier one, a step back within the epoch, an epoch below one that was there \
            already, or a new epoch that does not begin at 0. The leader had no state for the producer at that \
            moment, or an instance that should have been shut out wrote, or files were mixed.",
    innocent: &[
        "Clients before 2.5 begin again at 0 in the same epoch after their records were deleted.",
        "2147483647 is followed by 0; that is the wrap and no step back.",
        "A step back that repeats equal records is broker-dedup-lost.",
    ],
    evidence: &["the batches in question with epochs, sequences, offsets and leader epochs"],
    next: &[
        "Look for unclean elections, deleted snapshots and restored directories at that time.",
        "An epoch that goes down: look for an old instance that still ran.",
        "Compare with another replica.",
    ],
};

pub(super) const OFFSET_GAP: Explanation = Explanation {
    code: Code::OffsetGap,
    meaning: "offsets are missing in a log that was never compacted, or the log ends too early",
    shows: "An uncompacted log has every offset, because refused and repeated batches use none up. Here some are \
            missing between two batches, or a whole segment is, or the log ends below an offset that a checkpoint \
            says it had reached. A replica that does not lead is held against its own checkpoint. Unless \
            the cleaner took them without another trace, records that were stored are not there.",
    innocent: &[
        "Compaction leaves holes below the cleaner's position, and above it when the broker was killed before the \
         position was written: between two files that looks like a missing one, and the finding is low.",
        "The cleaner leaves segment files without a batch, or with a first batch above the offset in the name. Where no \
         checkpoint or metadata tells whether it works on the topic, a file that lost what it held looks the same, and \
         the finding is low.",
        "Retention and DeleteRecords delete from the head of a log, and go on while the files of a running broker are copied \
         one by one: a first file may be missing although an older leader-epoch-checkpoint names it, or the next one behind \
         files that the log start has passed. In logs that were not closed cleanly such a hole is low; below the log start it \
         is none.",
        "Formats 0 and 1 and their conversion leave offsets out at the borders of segments.",
        "A copy that was taken while the broker wrote can lack its end; so can a log after a crash. Where the log \
         was not closed cleanly, an end below the high watermark is a note in the coverage. An end below the recovery \
         point as well is medium: what lies below it was flushed, so a crash does not take it, and a copy does only \
         if the checkpoints were copied later than the log.",
    ],
    evidence: &[
        "the batches on both sides",
        "the segment files and their base offsets",
        "the checkpoint that names the higher offset",
    ],
    next: &[
        "Do not start the broker on these files: a start lowers the checkpoints to what is there, and the \
         evidence is gone.",
        "Take the records from another replica or a backup; `compare` shows what each holds.",
    ],
};

pub(super) const OFFSET_REUSE: Explanation = Explanation {
    code: Code::OffsetReuse,
    meaning: "one offset stands for two contents in one replica",
    shows: "Offsets step back or repeat within one log: two different batches claim the same offset. A power loss \
            with a bad recovery, files of two replicas in one directory, or a changed base offset, which no \
            checksum covers. Which one a consumer gets depends on where it starts to read, so consumers disagree.",
    innocent: &[
        "The broker's own leftovers (.swap, .cleaned, .deleted) repeat offsets on purpose and are left aside.",
    ],
    evidence: &["both batches with position, offset, producer and time", "whether their records are equal"],
    next: &[
        "Take the partition from a healthy replica.",
        "Ask the readers of that range which content they got.",
    ],
};

pub(super) const SNAPSHOT_MISMATCH: Explanation = Explanation {
    code: Code::SnapshotMismatch,
    meaning: "a producer snapshot contradicts the log, is damaged, or lacks a producer that it should hold",
    shows: "A .snapshot file is what a broker remembers of the producers after a restart. This one has a bad \
            checksum or length, or names another last sequence than the log holds at that place, or misses a \
            producer that had written shortly before, or names another coordinator than the last marker, or covers more \
            than the log holds. In a log that is complete, was never compacted and was closed cleanly, an entry that no batch and no \
            marker led to is told as well. A broker that starts from it accepts what it should refuse, or refuses the coordinator's \
            markers. After a clean stop one is there; where a partition alone has none, the broker forgets its producers.",
    innocent: &[
        "Where a broker runs, files are of different moments: a snapshot behind the end of a log \
         that was not closed cleanly proves nothing.",
        "An empty snapshot of 10 bytes is healthy where no producer ids were used.",
        "Snapshots of replicas differ, because each broker forgets by its own clock.",
        "At a roll by time producers may have expired just before the snapshot was taken.",
        "A producer whose records retention or the cleaner took may still be in the snapshot.",
    ],
    evidence: &[
        "the file, the producer, and what snapshot and log say",
        "which of the two the records support",
    ],
    next: &[
        "A damaged snapshot is thrown away by the broker and built anew from an older one and the log.",
        "Look for repeated sequences behind that offset: broker-dedup-lost.",
        "Do not delete snapshots by hand: after a clean stop without any the broker starts with an empty memory.",
    ],
};

pub(super) const INDEX_MISMATCH: Explanation = Explanation {
    code: Code::IndexMismatch,
    meaning: "an index file contradicts the log",
    shows: "An entry of an .index, .timeindex or .txnindex file does not fit the log, beyond the known ways in \
            which releases write them: it names a position at which no batch begins, or one behind records that it \
            should lead to, it goes back, or its offset is not one of the segment. Readers then start at the wrong \
            place, miss records or get an error. A \
            transaction index that lacks an abort, or lets it begin too late, makes brokers hand out aborted records as \
            committed.",
    innocent: &[
        "Followers and old releases name the end of a whole append and the position of its first batch.",
        "An active segment has its indexes preallocated with zeros; it is only looked at after a clean shutdown.",
        "What lies above the recovery point when a machine loses its power may be lost in part.",
        "The cleaner drops index entries of transactions whose data is gone; one that stays may begin at a record that \
         the cleaner, retention or damage took.",
    ],
    evidence: &["the entry, its position, and the batch that contradicts it"],
    next: &[
        "Stop the broker, remove the index files of that segment only, and start it: it builds them anew. Never \
         remove .snapshot files with them.",
        "For a transaction index that lacks an abort: check what read_committed consumers took from that range.",
    ],
};

pub(super) const TRANSACTION_OPEN: Explanation = Explanation {
    code: Code::TransactionOpen,
    meaning: "a transaction is open: it runs or hangs, and read_committed readers wait for it",
    shows: "Records of a transaction are there without a commit or abort marker behind them, or a snapshot \
            remembers such a transaction. Readers with read_committed stop before its first record, and see \
            nothing that came later, whoever wrote it. At the end of a log that is still written it may just be \
            running; one that is much older than transaction.max.timeout.ms hangs.",
    innocent: &[
        "A transaction that ran when the files were copied has its marker in the broker, not in the copy. In a log that was \
         not closed cleanly, one that is younger than its timeout (60 s, where the coordinator's value is not there) is info, and \
         so is one that was ended when the log had come to its end here.",
        "Markers carry a higher epoch than the data under protocol 2 and after a timeout; they still end it.",
        "A transaction that other partitions show as ended is over: a copy of one partition ends before its marker, or \
         the marker was lost with the end of a log.",
    ],
    evidence: &[
        "producer id, epoch and first offset",
        "its age: by its coordinator, else by the broker's markers and append times on both sides of its first records, else \
         by the client's own times, which may be those of events",
        "how the same epoch of its producer ended elsewhere, and whether the producer went on under a later one",
        "the coordinator's newest value, and its decisions, in __transaction_state",
    ],
    next: &[
        "Look: kafka-transactions.sh --bootstrap-server … find-hanging --broker-id N, or describe-producers \
         --topic T --partition P (tools from 3.0; brokers answer the latter from 2.8 on).",
        "If its coordinator has it as Ongoing, end it there: start a producer with its transactional.id, or \
         kafka-transactions.sh --bootstrap-server … forceTerminateTransaction --transactionalId ID (4.1 and later, \
         KIP-939).",
        "If it hangs and no coordinator has it, end it in the partition: kafka-transactions.sh --bootstrap-server … \
         abort --topic T --partition P --start-offset OFFSET (brokers and tools from 3.0).",
        "Never abort in one partition what was committed in others before its records there are saved: an abort \
         discards them for read_committed consumers.",
        "Update brokers: since 3.6 they verify transactions, which prevents most hanging ones (KIP-890).",
    ],
};

pub(super) const TRANSACTION_ANOMALY: Explanation = Explanation {
    code: Code::TransactionAnomaly,
    meaning: "a late write behind its own marker, a plain write inside a transaction, or two outcomes of one",
    shows: "A record of a transaction came after the marker that ended it, so it belongs to no transaction that \
            anybody will end; or one transaction was committed in one partition and aborted in another, so \
            consumers see half of it. Both break what transactions promise. The first is the class of faults that \
            KIP-890 closes; the second happens when an operator aborts in one partition what the producer then \
            commits. A batch without transaction while one of its producer is open is what no broker appends: with \
            it no replica loads the partition. Under protocol 1, where all transactions of a session have one epoch, \
            what was aborted and what was committed belong together if the one was under way when the other got \
            its marker: on brokers' clocks that is likely (high); by a commit marker that closed nothing beside the \
            abort (medium), or by the producer's times alone (low), it is possible. Where __transaction_state is among the \
            files, the coordinator's decisions tell it: an abort during a transaction that it committed is not its own (high).",
    innocent: &[
        "An aborted transaction and the next one, which was committed: it begins behind the abort.",
        "Under protocol 1 an abort by hand that is followed within ten seconds by a commit that has data, or no marker, in \
         the same partition is not told: clocks may differ by more. Where that commit closed nothing it is possible, and low.",
        "Records that carry the times of events: these say nothing of when they were sent.",
        "Markers without data are normal: a partition was added and nothing was written, or it was cleaned away.",
        "Two markers of one kind in a row are a retry of the coordinator.",
        "A marker's epoch may be one above its data's.",
    ],
    evidence: &["the data, each marker with its offset and outcome, by partition"],
    next: &[
        "Ask whether somebody ran kafka-transactions.sh abort at that time.",
        "Check in the source of truth which outcome is right, and repair the partitions that have the other.",
        "Update brokers to 3.6 or later and clients to transaction protocol 2.",
    ],
};

pub(super) const REPLICA_DIVERGENCE: Explanation = Explanation {
    code: Code::ReplicaDivergence,
    meaning: "two replicas of one partition differ in a way that neither lag nor the cleaner explains",
    shows: "At one offset the replicas hold other records, or a record that decides (a tombstone, a marker, the \
            newest value of a key) is in one of them only, below what both had reached; or the last records of an \
            older leader stand nowhere in the leading replica, although consumers could read them, their transaction \
            is committed behind them, their producer went on without them, they have no producer id, or their replica was \
            the only one in sync when another was elected (__cluster_metadata tells unclean elections). An unclean election, a \
            truncation that was not followed, a restored directory or damaged disks. What consumers get changes \
            with the leader.",
    innocent: &[
        "A follower that lags is shorter; only what lies below both ends is compared.",
        "Each replica is cleaned for itself, so one may hold records that the other has compacted already.",
        "A log start that moved is seen by replicas at different times.",
        "What an older leader had not passed on is written again by its clients: old-leader-tail.",
    ],
    evidence: &["the range and how it differs", "leader epochs of both replicas around it"],
    next: &[
        "Decide which replica is right before the next election; `compare` shows both sides.",
        "Look for unclean.leader.election.enable and for restored disks.",
        "Let the wrong replica be copied anew from the right one.",
    ],
};

pub(super) const OLD_LEADER_TAIL: Explanation = Explanation {
    code: Code::OldLeaderTail,
    meaning: "a replica ends in records of an older leader, which it truncates when it rejoins",
    shows: "Another replica was elected before it had copied the last records of the leader before. On an ordinary \
            failover nothing is lost by that: clients that were not told of success write these records again, under \
            the same sequence, a raised producer epoch or another producer id, and coordinators repeat the ends of \
            transactions. Each record of the tail is looked for in the leading replica. Where all stand there, were \
            aborted or were taken back by their producer, this is worth knowing, no more. Where some stand nowhere \
            and nothing shows that anybody was told of success, it is low: nobody can tell from the files.",
    innocent: &[
        "A producer that waits for all replicas is not told of success before they have copied a record.",
        "A producer that died with its records unanswered does not write them again.",
        "The leading replica was copied before its clients came back to it.",
    ],
    evidence: &[
        "the range, its leader epochs and writers",
        "unclean elections since, with who was in sync, where __cluster_metadata is among the files",
        "how many of its records stand in the leading replica again, and how many do not",
    ],
    next: &[
        "Nothing where all records stand in the leading replica: the broker truncates the rest by itself.",
        "Else copy the files of the older replica before its broker starts, and ask its producers.",
    ],
};

pub(super) const LEADER_EPOCH_ANOMALY: Explanation = Explanation {
    code: Code::LeaderEpochAnomaly,
    meaning: "leader epochs go back along the log, or contradict the checkpoint",
    shows: "Every batch carries the epoch of the leader that stored it, and along a log it never falls. Here it does, \
            or leader-epoch-checkpoint gives another range. The log was truncated in a wrong way, or is put \
            together from files of several replicas.",
    innocent: &[
        "Skipped epochs are normal: leaders that stored nothing.",
        "An epoch in the checkpoint without any batch is normal, too.",
        "Where the broker was not stopped cleanly the checkpoint may lag, since it is written later; after a clean stop it \
         names the newest epoch (low where it does not).",
    ],
    evidence: &["the batches around the step with offsets and leader epochs", "the checkpoint's entries"],
    next: &[
        "Compare with the other replicas before this one becomes leader.",
        "Ask whether files were copied between brokers.",
    ],
};
