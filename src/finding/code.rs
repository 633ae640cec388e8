//! The finding codes: one row each, so that names, severities and words stay together.

use super::word::open_words;

open_words! {
    /// How bad a finding is.
    Severity {
        /// Worth knowing, nobody's fault.
        Info "info";
        /// Look at it when there is time.
        Low "low";
        /// Something does not work as it should.
        Medium "medium";
        /// Data is stored twice, or may be missing.
        High "high";
    }
}

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident;)*) => {
        open_words! {
            /// The mechanism that a finding names.
            Code { $(#[doc = concat!("`", $name, "`")] $variant $name;)* }
        }

        impl Code {
            /// The severity, unless the finding itself lowers it.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$variant => Severity::$severity,)*
                    Self::Other(_) => Severity::Info,
                }
            }
        }
    };
}

codes! {
    RetryWithoutIdempotence "retry-without-idempotence" High;
    ResendNewSession "resend-new-session" High;
    ConcurrentProducers "concurrent-producers" High;
    ResendSameSession "resend-same-session" Medium;
    EpochBumpResend "epoch-bump-resend" High;
    BrokerDedupLost "broker-dedup-lost" High;
    ProducerIdCollision "producer-id-collision" High;
    MisplacedBatch "misplaced-batch" High;
    PipelineReplay "pipeline-replay" Medium;
    RestoredCopy "restored-copy" Medium;
    AbortedThenRetried "aborted-then-retried" Info;
    AbortedNotRetried "aborted-not-retried" Info;
    DuplicateUndetermined "duplicate-undetermined" Medium;
    IdempotenceOff "idempotence-off" Medium;
    IdempotenceLost "idempotence-lost" High;
    IdempotenceIneffective "idempotence-ineffective" Medium;
    SequenceGap "sequence-gap" High;
    SequenceGapExplained "sequence-gap-explained" Info;
    SequenceAnomaly "sequence-anomaly" High;
    OffsetGap "offset-gap" High;
    OffsetReuse "offset-reuse" High;
    OrderBroken "order-broken" Low;
    SnapshotMismatch "snapshot-mismatch" Medium;
    IndexMismatch "index-mismatch" Medium;
    TransactionOpen "transaction-open" Medium;
    TransactionAnomaly "transaction-anomaly" High;
    MisroutedKey "misrouted-key" Low;
    ProducerChurn "producer-churn" Low;
    ReplicaDivergence "replica-divergence" High;
    OldLeaderTail "old-leader-tail" Info;
    LeaderEpochAnomaly "leader-epoch-anomaly" High;
    InterleavedWriters "interleaved-writers" Info;
    ConsumerRewind "consumer-rewind" Info;
}
