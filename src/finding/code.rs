//! The finding codes: one row each, so that names, severities and words stay together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, nobody's fault.
    Info,
    /// Look at it when there is time.
    Low,
    /// Something does not work as it should.
    Medium,
    /// Data is stored twice, or may be missing.
    High,
}

impl Severity {
    /// The name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident;)*) => {
        /// The mechanism that a finding names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Code {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant,)*
        }

        impl Code {
            /// All codes, in the order in which they are explained.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The severity, unless the finding itself lowers it.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
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
    LeaderEpochAnomaly "leader-epoch-anomaly" High;
    InterleavedWriters "interleaved-writers" Info;
    ConsumerRewind "consumer-rewind" Info;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
