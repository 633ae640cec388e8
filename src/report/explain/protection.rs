//! Whether a retry could have been recognised, and what producers look like.

use super::Explanation;
use crate::finding::Code;

pub(super) const IDEMPOTENCE_OFF: Explanation = Explanation {
    code: Code::IdempotenceOff,
    meaning: "records were written without producer id: nothing could have caught a retry",
    shows: "Records carry no producer id, so the client that wrote them had idempotence off, and the broker could \
            not have told a retry from a new record. Often nobody chose that: the default is off before client \
            3.0 and, by a bug, in 3.0.0 and 3.1.0 (KAFKA-13598); acks other than all or retries=0 switch an \
            unset enable.idempotence off with one line in the log; Connect and MirrorMaker 2 workers force it \
            off; most other client libraries begin without it. Which of these it was the files do not tell.",
    innocent: &[
        "Formats 0 and 1 cannot carry a producer id; their records are counted as legacy and not here.",
        "The brokers' own topics are written without producer ids.",
        "Where a lost or doubled record does no harm, such as metrics, this may be a choice.",
        "Fewer than 20 records that are less than one in twenty, or fewer than 5 that are less than one in five, may be of a console tool or a script: possible, and low.",
    ],
    evidence: &["the share of records without producer id", "each stretch of them with offsets and times"],
    next: &[
        "Set enable.idempotence=true explicitly: a setting that contradicts it is then an error and not a line \
         in the log.",
        "Look in the client's log for `Idempotence will be disabled because`.",
        "For Connect set producer.override.enable.idempotence=true, or producer.enable.idempotence=true in the worker.",
    ],
};

pub(super) const IDEMPOTENCE_LOST: Explanation = Explanation {
    code: Code::IdempotenceLost,
    meaning: "protection against retries was on, and is off from here on or was for a while",
    shows: "Up to some offset the records of a partition carry producer ids, from there on they do not, and no \
            protected session goes on beside them. That is what a deployment looks like that changed the client \
            library or a setting: from that moment no retry is recognised.",
    innocent: &[
        "Where protected sessions go on beside the unprotected records another writer came, and it is \
         idempotence-off.",
        "A one-time import or a manual write with a console tool leaves a short stretch of this kind: fewer than 20 records \
         that are less than one in twenty, or fewer than 5 that are less than one in five, are possible at most, and medium.",
    ],
    evidence: &[
        "the offset and time at which the change happened",
        "the last protected and the first unprotected batch",
    ],
    next: &[
        "Look for the deployment or configuration change at that time.",
        "Set enable.idempotence=true and acks=all explicitly, so that the client refuses to start where they \
         contradict each other.",
    ],
};

pub(super) const IDEMPOTENCE_INEFFECTIVE: Explanation = Explanation {
    code: Code::IdempotenceIneffective,
    meaning: "producer ids are there, but the broker could not have used them",
    shows: "The records carry producer ids, yet the broker's check cannot work on them. It forgets a producer whose \
            newest record time is older than producer.id.expiration.ms (one day by default), and record time is \
            the client's time: old event times or timestamp -1 make it forget an active producer at its next \
            sweep. An epoch of -1 beside a producer id is never checked. A retry that comes after the broker \
            forgot is stored a second time.",
    innocent: &[
        "As long as no retry falls behind such a sweep nothing is doubled; this is a risk and no damage.",
        "With LogAppendTime the broker's time counts and old event times do no harm.",
    ],
    evidence: &[
        "record times against the times around them that brokers wrote",
        "which producers and how many records",
    ],
    next: &[
        "Raise producer.id.expiration.ms above the age of the event times.",
        "Or let the topic use message.timestamp.type=LogAppendTime and keep the event time in the value.",
    ],
};

pub(super) const PRODUCER_CHURN: Explanation = Explanation {
    code: Code::ProducerChurn,
    meaning: "far more short producer sessions than the broker can remember",
    shows: "The topic holds very many producer ids with few records each: 500 or more that a broker had to \
            remember at once, with at most 20 records in at most a minute. Every one costs the broker memory \
            until it expires and makes snapshots and restarts slower. Usually a producer is created for each \
            request or message instead of once for the process; idempotence, which works within one session, \
            then protects next to nothing.",
    innocent: &[
        "Short jobs and functions that run once have short sessions by nature.",
        "Streams applications have a producer for each thread or task.",
    ],
    evidence: &[
        "the number of sessions, their records and life spans",
        "the number of producers in the newest snapshot",
    ],
    next: &[
        "Create one producer for each process and share it between threads.",
        "On the broker producer.id.expiration.ms bounds how long ids are kept.",
    ],
};

pub(super) const INTERLEAVED_WRITERS: Explanation = Explanation {
    code: Code::InterleavedWriters,
    meaning: "two sessions keep writing new contents for the same keys in turn",
    shows: "Two producer sessions that are alive at the same time write for the same keys again and again, each with \
            contents of its own. Nothing is stored twice. Where each key should have one writer, this is an \
            instance that should be dead, and its contents may be stale. Told from ten changes between the two \
            on; the first 256 MiB of a partition are looked at, less where more than four partitions are, and its \
            first 16,384 keys. Where these bounds bit, the coverage says so.",
    innocent: &[
        "Several services that update the same entities do this by design.",
        "Two instances behind one load balancer do so as well; where keys have three or more writers, nothing is told.",
        "A rolling restart overlaps for a short while.",
    ],
    evidence: &["both sessions, the keys that they share, and how often the writer changes"],
    next: &[
        "Ask whether these keys should have one writer; if so, find the second instance.",
        "A transactional.id for each owner shuts the older instance out.",
    ],
};

pub(super) const ORDER_BROKEN: Explanation = Explanation {
    code: Code::OrderBroken,
    meaning: "without protection, batches stand behind later ones, as retried ones do",
    shows: "Client times step back as a block: a batch stands behind ones that were created after it, its times lie \
            in a hole of the stream before them, and the stream is in order otherwise. With several requests in flight and no idempotence a batch that failed and was sent \
            again lands behind its successors. The same is told, from few batches on, where the values are JSON with \
            a version that rises with each record key elsewhere: a whole number or an RFC 3339 time. Each record \
            of the block is then older, by version and by client time, than one of its key before it; a version \
            that the key had before is a copy. Versions are looked at in the first 256 MiB of a partition, less \
            where more than four partitions are, and for its first 16,384 keys; the coverage says where these \
            bounds bit. For a topic in which the newest record of a key wins, an old \
            state may have won.",
    innocent: &[
        "Several producers with different clocks mix their times without being out of order.",
        "Event times that the application sets follow the events and not the sending.",
        "An application that itself writes an older version later breaks the order, and no retry did.",
    ],
    evidence: &[
        "the block that moved, with offsets and times",
        "the place before later batches where its times belong, and that no other batch fills it",
    ],
    next: &[
        "Switch idempotence on: it keeps the order with up to five requests in flight.",
        "Without it set max.in.flight.requests.per.connection=1.",
        "Repair the keys whose newest record is the older version.",
    ],
};

pub(super) const MISROUTED_KEY: Explanation = Explanation {
    code: Code::MisroutedKey,
    meaning: "a keyed record is in a partition that the topic's partitioner would not choose",
    shows: "Four fifths or more of the topic's keys stand where one known partitioner puts them (murmur2 of Java, \
            crc32 of librdkafka, fnv1a of sarama and kafka-go), and these do not. --partition-count tells the \
            count where not all partitions are here. Records of \
            one key in several partitions lose their order, and consumers that keep state by key see only a part.",
    innocent: &[
        "Records from before the partition count was raised stand where the old count put them.",
        "Other client libraries hash keys in other ways: two languages writing to one topic look like this.",
        "An application may set the partition itself.",
    ],
    evidence: &[
        "the partitioner that the other keys follow, and how many do",
        "each record with the partition in which it should be",
    ],
    next: &[
        "Give all writers the same partitioner: librdkafka and its children need partitioner=murmur2_random to \
         agree with Java.",
        "If it is a few whole batches, see misplaced-batch.",
    ],
};

pub(super) const CONSUMER_REWIND: Explanation = Explanation {
    code: Code::ConsumerRewind,
    meaning: "a group's committed position stepped back over these records: read twice, not written twice",
    shows: "The commit history in __consumer_offsets shows that a group's position went back, so it was to be \
            given the records between the two positions again. A later commit inside them shows that it was: they are \
            stored once, and the second time was a second reading. Where no later commit lies behind the position, it was \
            set back, and nothing shows that anybody read on from there; what is deleted by then nobody is given.",
    innocent: &[
        "An operator who resets offsets does this on purpose.",
        "A late commit by a member that had lost the partition can step back and be overtaken at once.",
        "A position that was deleted and is committed again: where reading began is not told, and the topic may be another.",
    ],
    evidence: &[
        "the commits before and after the step, with time and generation",
        "the range of offsets in between",
    ],
    next: &[
        "Look for a reset of offsets, a rebalance or a crash at that time.",
        "Make processing idempotent, or commit the position together with its result.",
    ],
};
