//! What became of one record of a mirror or its source.

use crate::spill::{Element, RunReader};
use crate::units::Offset;
use std::io;

/// What became of one record: in order of pair, fate and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fate {
    pub(super) pair: u32,
    pub(super) kind: Kind,
    pub(super) at: Offset,
    /// Its counterpart.
    pub(super) to: Offset,
    pub(super) marks: Marks,
    /// The log of its counterpart, where that is in another partition.
    pub(super) elsewhere: Option<u32>,
}

/// What else is known of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Marks(u8);

impl Marks {
    pub(super) const NONE: Self = Self(0);
    /// An equal one of the mirror, which the source does not hold either, stands before it.
    pub(super) const AGAIN: Self = Self(1);

    /// Both sides show as many of the same, so it is certain which stands for which.
    pub(super) const SURE: Self = Self(2);
    /// Its counterpart has another content: other headers, or whatever is no part of the key.
    pub(super) const OTHER_CONTENT: Self = Self(4);

    /// Consumers of both sides get it.
    pub(super) const SHOWN: Self = Self(8);

    /// It stands for a record of another partition of the source.
    pub(super) const MOVED: Self = Self(16);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Matched,
    /// The last of equal records that each side shows, where they are not matched with each other.
    LastOfEqual,
    /// The mirror has it in another partition.
    MissingHere,
    Missing,
    /// The source has it in another partition.
    OtherPartition,
    Extra,
    Repeated,
    /// The mirror shows what the source holds in an aborted transaction.
    Aborted,
    /// The mirror shows what the source holds in a transaction that is open.
    Open,
    /// In the mirror it stands before a record of its key that is older in the source.
    OtherOrder,
    /// It is the newest of its key, and the mirror's newest is another one.
    OtherNewest,
}

impl Kind {
    const ALL: [Self; 11] = [
        Self::Matched,
        Self::LastOfEqual,
        Self::MissingHere,
        Self::Missing,
        Self::OtherPartition,
        Self::Extra,
        Self::Repeated,
        Self::Aborted,
        Self::Open,
        Self::OtherOrder,
        Self::OtherNewest,
    ];

    /// Whether it is a record of the source that stands alone.
    pub(super) const fn is_missing(self) -> bool {
        matches!(self, Self::Missing | Self::MissingHere)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Matched | Self::LastOfEqual => "matched",
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Repeated => "repeated",
            Self::OtherPartition | Self::MissingHere => "other-partition",
            Self::Aborted => "aborted-in-source",
            Self::Open => "open-in-source",
            Self::OtherOrder => "other-order",
            Self::OtherNewest => "other-newest",
        }
    }
}

impl Element for Fate {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.pair.to_le_bytes());
        out.push(Self::number(self.kind));
        out.extend_from_slice(&self.at.0.to_le_bytes());
        out.extend_from_slice(&self.to.0.to_le_bytes());
        out.push(self.marks.0);
        out.extend_from_slice(&self.elsewhere.unwrap_or(u32::MAX).to_le_bytes());
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let pair = u32::from_le_bytes(from.array()?);
        let [kind] = from.array::<1>()?;
        let kind = Kind::ALL.get(usize::from(kind)).copied().ok_or(io::ErrorKind::InvalidData)?;
        let at = Offset(i64::from_le_bytes(from.array()?));
        let to = Offset(i64::from_le_bytes(from.array()?));
        let [marks] = from.array::<1>()?;
        let elsewhere = Some(u32::from_le_bytes(from.array()?)).filter(|log| *log != u32::MAX);
        Ok(Self { pair, kind, at, to, marks: Marks(marks), elsewhere })
    }
}

impl Fate {
    pub(super) const fn new(pair: u32, kind: Kind, at: Offset, to: Offset, marks: Marks) -> Self {
        Self { pair, kind, at, to, marks, elsewhere: None }
    }

    fn number(kind: Kind) -> u8 {
        Kind::ALL.iter().position(|known| *known == kind).and_then(|at| u8::try_from(at).ok()).unwrap_or(0)
    }
}
