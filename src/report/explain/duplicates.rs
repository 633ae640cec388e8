//! Events that are stored more than once.

use super::Explanation;
use crate::finding::Code;

pub(super) const RETRY_WITHOUT_IDEMPOTENCE: Explanation = Explanation {
    code: Code::RetryWithoutIdempotence,
    meaning: "the same batch is stored again, and no producer id could tell the broker",
    shows: "A batch without producer id stands in the partition twice: the same records once decompressed, and \
            the same base time. A producer that gets no answer in time sends its batch again as it is; without \
            idempotence nothing in it tells the broker that it is a repeat, so both are stored. Whole runs of \
            batches may come back, in another order and with others between them, and one stall of a broker \
            can leave two or three copies. Equal checksums say that both are the bytes of one batch, not who sent \
            them twice: a mirror that keeps times, or an application that sets them, can build them again as well, \
            so this is likely at most. Unequal ones exclude nothing, because a broker that stamps its own time or \
            recompresses changes them. Storing both is how the protocol works without idempotence, and no fault of \
            the broker.",
    innocent: &[
        "An application that sends the same small record twice within one millisecond can leave two equal \
         batches; for a run of several records it would have to set their times itself.",
        "Equal records that are grouped into other batches may as well be a replay by a pipeline; they are \
         reported as duplicate-undetermined until the source tells.",
        "The same file in two directories is restored-copy, and a replica is no copy at all.",
    ],
    evidence: &[
        "both batches with position, offsets, base time and checksum; their records compared byte by byte",
        "how far apart they are in offsets and batches, and whether the leader epoch rose between them (a new leader, or the same broker after a restart)",
        "that neither carries a producer id",
    ],
    next: &[
        "Set enable.idempotence=true and acks=all in the producer, explicitly: a default is switched off \
         silently where acks or retries contradict it.",
        "Drop or refund the surplus copies; --list writes each with its offset.",
        "Which client it was the files cannot tell: look for timeouts in the clients' logs at that time.",
    ],
};

pub(super) const RESEND_NEW_SESSION: Explanation = Explanation {
    code: Code::ResendNewSession,
    meaning: "a later producer session wrote events of an earlier session again",
    shows: "Events of one producer session are written again by a session that began later: under another \
            producer id, or, for a transactional producer, under the same id after a new initTransactions. \
            Idempotence guards one session only; the broker cannot know that a new session repeats an old \
            one. Usually the copies repeat the end of the earlier session's stream and begin at sequence 0, \
            and the earlier session is not seen again.",
    innocent: &[
        "A repeat of a key with new content is an update; it is counted per topic and not accused.",
        "An earlier copy in an aborted transaction is aborted-then-retried.",
        "Two sessions that were alive together are concurrent-producers: what decides is whether the copy's \
         session had begun before the original was written, in this partition or, by the original writer's \
         own clock, in another one.",
        "A pipeline whose source is among the files is pipeline-replay.",
        "Where no key tells events apart, equal contents may be different events: the finding is possible at most \
         unless a row of them came again in its old order, and a lone one is duplicate-undetermined.",
        "A job that publishes its whole state at each run writes the same set again and means it. Where three \
         sessions or more did so and each also wrote news that the next one left out, nothing is accused: a \
         restart reads everything behind its old position again. Where nothing but the set is there, or two \
         sessions only, the finding is possible at most and says so.",
    ],
    evidence: &[
        "both sessions with their producer ids, epochs, sequences and offsets",
        "the stretch of originals and the stretch of copies, in the same order or nearly so",
        "the order of offsets: inside a partition it decides, not the clients' clocks",
    ],
    next: &[
        "Find out what made the application start again at that time, and from which position it read on.",
        "Keep the read position as durable as the writes: commit it after the acknowledgement, or both in one \
         transaction.",
        "Until then let consumers drop repeats of the business key; --list names the surplus copies.",
    ],
};

pub(super) const CONCURRENT_PRODUCERS: Explanation = Explanation {
    code: Code::ConcurrentProducers,
    meaning: "two producers that were alive at the same time wrote the same events",
    shows: "The session that wrote the copy had already begun when the original was written, and both wrote the \
            same events: two instances of one service, a relay that runs more than once, an old instance that \
            was not stopped. For the broker each of them did its own work, once.",
    innocent: &[
        "A restart has sessions one after the other; it is resend-new-session. A replacement that began from an \
         old position beside an instance that lived on is both, and stays a rival for what was stored before its \
         writer is first seen: the title counts these apart.",
        "Writers that share keys but write new contents in turn are interleaved-writers.",
        "Two producers whose events merely look alike (heartbeats, equal small values) share contents by \
         chance; a business key that is unique for an event tells.",
    ],
    evidence: &[
        "both sessions with their life spans in offsets",
        "how many events both wrote, and how many only one did",
        "the time from each original to its copy",
    ],
    next: &[
        "Count the running instances at that time; look for a deployment, a failover or a scheduled job that \
         ran twice.",
        "Give the writers one owner: a lock with fencing, one consumer group, or one transactional.id, with \
         which the newer instance shuts the older one out.",
        "Drop repeats by business key; the producer ids differ from copy to copy.",
    ],
};

pub(super) const RESEND_SAME_SESSION: Explanation = Explanation {
    code: Code::ResendSameSession,
    meaning: "one producer session sent the event again under later sequences of its own",
    shows: "The same producer id and session wrote the event twice, the second time under new sequences. A retry \
            inside the client would have kept the sequence and been refused, so the application called send() \
            twice: for one event, after an error or a timeout, in a loop, or because it handled one input twice; or \
            for two events that are equal. Two copies in one \
            batch were sent in one go, with or without producer id: no error and no restart lies between them.",
    innocent: &[
        "Contents that repeat by nature, such as heartbeats or a state written again, are equal without being \
         one event; a business key that is unique for an event tells.",
        "Copies a few milliseconds apart in one batch are a double send; copies minutes apart are more likely \
         a resend after an error or a replay within the process.",
    ],
    evidence: &[
        "both sequences of the one session, and the time between them",
        "whether nearly every event is doubled or only some",
        "whether other epochs of the producer lie between",
    ],
    next: &[
        "Look in the application for send() in error handlers and in retry loops: with idempotence the client \
         retries by itself.",
        "After a timeout the record may be stored: check before sending again, or give each event a unique id.",
        "If inputs are handled twice, commit the read position together with the output.",
    ],
};

pub(super) const EPOCH_BUMP_RESEND: Explanation = Explanation {
    code: Code::EpochBumpResend,
    meaning: "a producer wrote its last batches again under a new epoch",
    shows: "One non-transactional producer id goes to a higher epoch, and the first records of the new epoch \
            repeat the last ones of the old epoch from sequence 0. Since 2.5 a client does this by itself when \
            the broker refuses a sequence or a batch fails for good (KIP-360): what is in flight gets a new \
            identity and is sent again. Had it been stored without an acknowledgement reaching the client, it \
            is then stored twice (KAFKA-14034). Equal client times point to the client; later ones to an \
            application that sent again after a delivery timeout.",
    innocent: &[
        "A new epoch that starts at sequence 0 without repeating anything is normal.",
        "Transactional producers raise the epoch with every transaction under protocol 2, and after fencing.",
    ],
    evidence: &[
        "the end of the old epoch and the start of the new one, record by record",
        "that no marker and no transaction lies between",
        "client times of both copies",
    ],
    next: &[
        "Look in the client's log for `Going to bump epoch and reset sequence` and for what went before it.",
        "Find out why the batch failed or timed out: too large, a broker restart, too short a \
         delivery.timeout.ms.",
        "Where this must not happen use transactions, or drop repeats by business key.",
    ],
};

pub(super) const BROKER_DEDUP_LOST: Explanation = Explanation {
    code: Code::BrokerDedupLost,
    meaning: "the broker stored one sequence range twice, because it no longer remembered the first",
    shows: "The same producer id, epoch and sequences stand in the partition twice, with the same records. A \
            leader that remembers the producer answers the second with success and stores nothing, so at that \
            moment it did not remember: the producer had expired, by old event times or timestamp -1 also while \
            it was active; or its state was lost with snapshots, with an unclean change of leader or a restored \
            directory. Neither a resend by the application nor a new client keeps the sequences; a client that \
            retries later than the broker remembers is a mismatch of two settings.",
    innocent: &[
        "The same range with other records is no duplicate: clients before 2.5 begin again at 0 after deleted \
         records, and so do two writers under one id (producer-id-collision).",
        "The group coordinator writes sequence 0 with every transactional commit in __consumer_offsets; internal \
         topics are not judged.",
    ],
    evidence: &[
        "both batches with equal producer id, epoch, first and last sequence, and equal records",
        "record times against the time of the append: older than producer.id.expiration.ms or not",
        "the snapshot nearest below the second copy, and the newest one, and whether they hold the producer",
        "a leader epoch that changed between the copies",
    ],
    next: &[
        "If event times are old, raise producer.id.expiration.ms above their age, or let the topic use \
         LogAppendTime.",
        "If state was lost, look for deleted snapshots, replaced disks, directories copied by hand and unclean \
         elections at that time.",
        "Drop the second copies; --list names them.",
    ],
};

pub(super) const PRODUCER_ID_COLLISION: Explanation = Explanation {
    code: Code::ProducerIdCollision,
    meaning: "one producer id, but two writers behind it",
    shows: "Sequences of one producer id and epoch are used again with other records, in another shape, and the \
            two streams overlap in time. An id is given to one producer only, so most likely two writers got the same: a \
            cluster that was rebuilt beside old logs, lost metadata (KAFKA-15552), or a tool that copies batches \
            with their ids. A broker can take one writer's batch for a retry of the other's and drop it with a \
            success: records can be missing without a trace.",
    innocent: &[
        "Clients before 2.5 begin again at sequence 0 in the same epoch after their records were deleted; the \
         two streams then follow each other and do not overlap.",
        "A topic that was deleted and created again: a client may go on with its old sequences.",
    ],
    evidence: &[
        "the sequence ranges that both streams used, and that their records differ",
        "times and leader epochs of both streams",
        "where __cluster_metadata is given: which broker was handed the block that the id is from",
    ],
    next: &[
        "Restart the producers that share the id, so that they ask for new ones.",
        "Find out whether cluster metadata was restored or the cluster rebuilt over old log directories.",
        "Compare what the application sent with what is stored: the broker may have dropped records as repeats.",
    ],
};

pub(super) const MISPLACED_BATCH: Explanation = Explanation {
    code: Code::MisplacedBatch,
    meaning: "a batch that belongs to another partition or topic",
    shows: "A batch stands in a partition whose stream it does not fit: its sequences belong to what the same \
            producer wrote elsewhere, often an equal batch stands there, and its keys would be sent to that \
            other partition. Java clients from 2.8.0 up to 3.9.1, 4.0.1 and 4.1.1 can send the bytes of one \
            batch under the address of another when a buffer is reused too early (KAFKA-19012). The checksum \
            is right, because it does not cover the address. Consumers read foreign records, and the rightful \
            partition or topic may lack its own.",
    innocent: &[
        "An application that writes the same records to two topics on purpose does so under sequences that fit \
         each partition.",
        "A custom partitioner or a changed partition count explains single keys in odd places (misrouted-key).",
    ],
    evidence: &[
        "the batch with its producer id, epoch and sequences, and the two streams around it",
        "the equal batch in the partition where it fits, when that is among the files",
        "where its keys hash to",
    ],
    next: &[
        "Update the Java client to 3.9.2, 4.0.2, 4.1.2, 4.2.0 or later (CVE-2026-35554); 3.8 and older have no fix.",
        "Take the batch out of what consumers processed, and look for records that its own partition lacks: \
         reconcile holds a list of sent keys against the log.",
    ],
};

pub(super) const PIPELINE_REPLAY: Explanation = Explanation {
    code: Code::PipelineReplay,
    meaning: "a pipeline wrote a stretch of its output again",
    shows: "A stretch of records stands in the topic again with the keys, values and client times that it has in \
            its source, or the position of the pipeline's group stepped back over it. Connect, mirroring and \
            streams without exactly-once keep their position apart from what they write: after a restart, a \
            failover or a rebalance they do the last stretch once more. Connect workers switch idempotence off \
            by default, so there is often no producer id.",
    innocent: &[
        "The source itself holds the records twice: then the pipeline did its work right, and the duplicate is \
         to be looked for in the source.",
        "A network retry repeats whole batches; a replay groups the records anew.",
    ],
    evidence: &[
        "the stretch in the source topic with equal keys, values and client times",
        "the history of the group's committed offsets, where __consumer_offsets is given",
        "that originals and copies run in the same order",
    ],
    next: &[
        "Switch on exactly-once: exactly.once.source.support for Connect sources, exactly-once for MirrorMaker 2 \
         and streams (processing.guarantee=exactly_once_v2).",
        "Or shorten the flush or commit interval, which bounds the stretch that is written again.",
        "Let readers of the target drop repeats.",
    ],
};

pub(super) const RESTORED_COPY: Explanation = Explanation {
    code: Code::RestoredCopy,
    meaning: "the same file content lies in two places that are not replicas of each other",
    shows: "Batches with equal bytes, offsets and leader epochs stand in two places, and something says that one \
            was copied from the other: one topic id under two names or in two clusters, a missing topic id, two \
            directories of one broker. A backup, a restore, a move between disks, or a cluster clone.",
    innocent: &[
        "Replicas of one partition on several brokers hold the same on purpose and are counted once.",
        "Directories that end in -future, -stray or -delete are a broker's own leftovers.",
        "An application that writes each event to two topics makes equal batches, too: with two topic ids that is \
         noted and not counted.",
    ],
    evidence: &[
        "both directories with topic id, broker and cluster id",
        "the range of offsets over which the files are equal",
    ],
    next: &[
        "Ask whoever runs the brokers what was restored or moved, and when.",
        "Decide which directory counts, and give only that one to the audit.",
    ],
};

pub(super) const ABORTED_THEN_RETRIED: Explanation = Explanation {
    code: Code::AbortedThenRetried,
    meaning: "the earlier copy is in an aborted transaction: only read_uncommitted readers see two",
    shows: "An event stands in a transaction that was aborted, and again in a later one. That is how transactions \
            are meant to work: the work is rolled back and done again. Readers with isolation.level=read_committed \
            never see the first copy; all others do, and read_uncommitted is the default.",
    innocent: &[
        "This is itself the innocent explanation of a repeat; it is reported because readers can still see both.",
        "A later copy of another producer that stands in front of the abort is no retry after it: two live instances, \
         or a restart under another transactional.id; had both committed, the event would count twice.",
    ],
    evidence: &[
        "the abort marker over the first copy, and whether the second one stands behind it",
        "the outcome of the transaction that holds the second",
    ],
    next: &[
        "Set isolation.level=read_committed in every consumer of the topic, also in tools and sinks.",
        "Many aborts at one time are worth a look: timeouts, fenced instances, errors in the application.",
    ],
};

pub(super) const ABORTED_NOT_RETRIED: Explanation = Explanation {
    code: Code::AbortedNotRetried,
    meaning: "events stand in aborted transactions and nowhere else in their topic",
    shows: "Records with an abort marker over them were rolled back. As a rule the application tries again and the \
            event stands in a later transaction (aborted-then-retried). These events do not: no record of the topic \
            outside of aborted transactions holds their key. Consumers that read committed records never see them. \
            The finding counts events and records by topic, and names the first ones.",
    innocent: &[
        "An application may abort work that it gives up: a refused payment, an order that was cancelled.",
        "The next attempt may have gone to another topic, or to a partition that is not among the files.",
        "The log may end, or may have been copied, before the next attempt.",
    ],
    evidence: &[
        "the aborted transactions with their markers",
        "that no other record of the topic has the same key, whatever its content",
    ],
    next: &[
        "Nothing, where the application meant to give the work up.",
        "Otherwise hold its list of what was to be written against the log: `reconcile`.",
    ],
};

pub(super) const DUPLICATE_UNDETERMINED: Explanation = Explanation {
    code: Code::DuplicateUndetermined,
    meaning: "the event is stored twice, and the files cannot tell how that came about",
    shows: "An event is stored more than once, and more than one explanation survives every test that the files \
            allow. Records without producer id leave the least: equal records with equal client times in other \
            batches are a client that regrouped its retry or a pipeline that replayed, or only the latter where a \
            repeat begins inside an original batch, which a client retries as a whole; equal contents at new times are an application that sent again or one that was restarted. That the records are stored \
            is certain; who is to blame is not, nor, where no key tells events apart, that they are one event.",
    innocent: &[
        "A record key that names a customer or a device repeats by design; look at the identity that the report \
         says it used.",
        "Contents that repeat by nature, such as heartbeats, are equal without being one event.",
    ],
    evidence: &[
        "the copies with their places, times and leader epochs",
        "the rivals that were kept, each with its reason",
    ],
    next: &[
        "Get what the finding names under `would settle`: the source topic, the application's log, the commit \
         history of a group.",
        "Name the field that identifies an event with --key; `keys` ranks the candidates.",
        "Where the key is that of one event, drop or refund the copies by --list: for that the cause need not be \
         known.",
    ],
};
