//! Whether a batch stands where its offset says, as far as its neighbours can tell.
//!
//! No checksum covers the base offset, so a flipped bit there shows only in the order: the batch
//! before and the batch behind fit together, and the one between fits neither. Where the log
//! steps back for good (a restored copy, a power loss), the batches are in order among themselves
//! but repeat offsets that were there before.
//!
//! A batch that goes on from the one before and reaches the offset at which the next segment begins is right by its
//! neighbours and wrong by its file: from there on the other file is the log (`LogSegments.floorSegment`).
//!
//! Compaction leaves holes, so a step forward alone says nothing. It stays in doubt until a batch
//! behind it fits: where damage follows, the log may go on below it.

use super::candidate::{CHUNK, Candidate, Prefix, examine};
use crate::format::record_batch::{BatchHeader, HEADER_LENGTH};
use crate::format::source::ByteSource;
use crate::units::Offset;
use std::io;

/// What the scan knows of the offsets so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// The smallest offset that the next batch can have; `None` before the first batch of a file
    /// whose name says nothing.
    pub(super) lowest: Option<Offset>,
    /// Whether the batch before ends right there, so that a neighbour can prove something.
    pub(super) exact: bool,
    /// The offset behind the last batch, wherever that stood; lower while the log repeats offsets.
    pub(super) behind: Option<Offset>,
    /// The smallest offset that could have followed before the last batch stepped forward, while no
    /// batch behind it has said that the step is right.
    pub(super) before_step: Option<Offset>,
    /// No offset of this segment reaches this one.
    pub(super) upper: Offset,
}

/// What the neighbours say of a batch.
#[derive(Debug)]
pub(super) enum Place {
    /// It stands where it can stand.
    Fits,
    /// It steps forward, and the batch behind it cannot be read.
    Ahead,
    /// It does not; where it belongs, when they say that, and the offsets that are missing instead.
    Misplaced { belongs_at: Option<Offset>, missing: Option<(Offset, Offset)>, detail: String },
}

impl Order {
    /// Whether a batch found behind damage can belong to this segment.
    pub(super) fn admits(&self, header: &BatchHeader) -> bool {
        self.admits_base(header.base_offset) && header.last_offset() < self.upper
    }

    /// The same for a base offset alone.
    pub(super) fn admits_base(&self, base: Offset) -> bool {
        let lowest = self.lowest.min(self.behind).unwrap_or(Offset(0));
        self.before_step.map_or(lowest, |before| before.min(lowest)) <= base && base < self.upper
    }

    /// Whether a cut batch of this segment that begins at `lowest` or later can start with these
    /// bytes.
    pub(super) fn admits_start_of_base(&self, bytes: &[u8], lowest: Offset) -> bool {
        let starts = |offset: Offset| offset.0.to_be_bytes();
        let shown = bytes.get(..8).unwrap_or(bytes);
        starts(lowest).get(..shown.len()) <= Some(shown)
            && Some(shown) <= starts(self.upper.plus(-1)).get(..shown.len())
    }

    /// Goes on behind a batch from `base` that ends before `next`.
    pub(super) fn advance(&mut self, base: Offset, next: Offset) {
        match self.before_step {
            Some(before) if self.lowest.is_some_and(|lowest| base < lowest) && before <= base => {
                self.lowest = Some(before);
                self.before_step = None;
            }
            _ => self.before_step = self.lowest.filter(|&lowest| lowest < base),
        }
        self.behind = Some(next);
        self.lowest = Some(self.lowest.map_or(next, |lowest| lowest.max(next)));
        self.exact = true;
    }

    /// Goes on behind a batch that is out of place and ends before `next`.
    pub(super) fn pass(&mut self, next: Offset) {
        self.behind = Some(next).filter(|_| self.lowest.is_none_or(|lowest| next <= lowest));
        self.exact = false;
    }

    /// Goes on behind bytes that say nothing about offsets.
    pub(super) fn skip(&mut self) {
        self.exact = false;
    }

    /// Asks the neighbours of the batch of `size` bytes at `position`.
    pub(super) fn place<S: ByteSource>(
        &self,
        source: &mut S,
        header: &BatchHeader,
        position: u64,
        size: u64,
    ) -> io::Result<Place> {
        let end = position.saturating_add(size);
        let Some(lowest) = self.lowest else { return Ok(Place::Fits) };
        let (base, last) = (header.base_offset, header.last_offset());
        if base == lowest {
            if last < self.upper || header.is_legacy() {
                return Ok(Place::Fits);
            }
            let detail = format!(
                "offsets {base} to {last} in a file behind which another one begins at {}",
                self.upper
            );
            let missing = (base < self.upper).then(|| (base, self.upper.plus(-1)));
            return Ok(Place::Misplaced { belongs_at: None, missing, detail });
        }
        // Where this batch would end if it began right behind the one before.
        let joined = Some(lowest.plus(i64::from(header.last_offset_delta)).next())
            .filter(|_| self.exact && header.records_count.is_some());
        if base < lowest {
            let next = neighbour(source, end)?;
            if next.as_ref().is_some_and(|next| Some(next.base) == joined) {
                return Ok(misplaced(header, lowest, joined));
            }
            let detail = format!("base offset {base} behind offset {}: offsets step back", lowest.plus(-1));
            // Of a step forward and what follows it below, damage between them, two that go on from
            // each other are right.
            let goes_on = next.is_none_or(|next| next.base < lowest || next.base == last.next());
            let belongs_at = self.before_step.filter(|&before| before <= base && goes_on).map(|_| base);
            return Ok(Place::Misplaced { belongs_at, missing: None, detail });
        }
        let ahead = behind(source, position, size)?;
        if last < self.upper && ahead.is_none_or(|ahead| last < ahead && ahead < self.upper) {
            return Ok(Place::Fits);
        }
        let next = neighbour(source, end)?;
        let Some(next) = next else {
            if joined.is_some() && joined == ahead {
                return Ok(misplaced(header, lowest, joined));
            }
            if last < self.upper {
                return Ok(Place::Ahead);
            }
            if joined == Some(self.upper) {
                return Ok(misplaced(header, lowest, joined));
            }
            let detail = format!("offsets {base} to {last} do not fit below {}", self.upper);
            return Ok(Place::Misplaced { belongs_at: None, missing: None, detail });
        };
        if Some(next.base) == joined {
            return Ok(misplaced(header, lowest, joined));
        }
        // A wrapper shows its last offset and begins before it, as a rule.
        let reaches_before = next.base < base
            || (next.length.is_none() && header.records_count.is_some() && next.base <= last);
        let ahead_of_next = lowest <= next.base && reaches_before;
        if last >= self.upper || (ahead_of_next && !follows_past(source, last, &next)?) {
            let missing = (lowest < next.base).then(|| (lowest, next.base.plus(-1)));
            let detail = format!(
                "base offset {base} between offset {} and base offset {}",
                lowest.plus(-1),
                next.base
            );
            return Ok(Place::Misplaced { belongs_at: None, missing, detail });
        }
        Ok(Place::Fits)
    }
}

/// Asks what is found at `position`, behind what cannot be read, about a batch that is
/// [`Place::Ahead`].
pub(super) fn place_ahead<S: ByteSource>(
    source: &mut S,
    header: &BatchHeader,
    position: u64,
) -> io::Result<Place> {
    let (base, last) = (header.base_offset, header.last_offset());
    let Some(next) = neighbour(source, position)?.filter(|next| next.base <= last) else {
        return Ok(Place::Fits);
    };
    let next_end = next.length.map(|length| next.base.plus(length));
    if let Some(third) = neighbour(source, next.end)?
        && last < third.base
        && next_end != Some(third.base)
    {
        return Ok(Place::Fits);
    }
    let detail = format!("base offset {base} before damage, the log goes on at {} behind it", next.base);
    Ok(Place::Misplaced { belongs_at: None, missing: None, detail })
}

/// The base offset that stands behind the batch. It is asked for together with the batch, because
/// this happens at every hole of a compacted log.
fn behind<S: ByteSource>(source: &mut S, position: u64, size: u64) -> io::Result<Option<Offset>> {
    let prefix = if size < CHUNK {
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let window = source.window(position, length.saturating_add(HEADER_LENGTH))?;
        Prefix::read(window.get(length..).unwrap_or_default())
    } else {
        Prefix::read(source.window(position.saturating_add(size), HEADER_LENGTH)?)
    };
    Ok(prefix.map(|prefix| prefix.base_offset))
}

fn misplaced(header: &BatchHeader, lowest: Offset, joined: Option<Offset>) -> Place {
    let next = joined.unwrap_or(lowest);
    let detail = format!(
        "base offset {} between offset {} and base offset {next}: it belongs at {lowest}",
        header.base_offset,
        lowest.plus(-1)
    );
    Place::Misplaced { belongs_at: Some(lowest), missing: Some((lowest, next.plus(-1))), detail }
}

struct Neighbour {
    base: Offset,
    /// Where it would end if it began at offset 0; unknown for a wrapper.
    length: Option<i64>,
    end: u64,
}

/// The batch at `position` when it proves itself.
fn neighbour<S: ByteSource>(source: &mut S, position: u64) -> io::Result<Option<Neighbour>> {
    Ok(match examine(source, position)? {
        Candidate::Whole { size, header } | Candidate::OtherMagic { size, header, .. } => Some(Neighbour {
            base: header.base_offset,
            length: header.records_count.map(|_| i64::from(header.last_offset_delta).saturating_add(1)),
            end: position.saturating_add(size),
        }),
        Candidate::Broken { .. } => None,
    })
}

/// Whether it is `next` that is out of place: the one behind it continues as if `next` had begun
/// right behind `last`.
fn follows_past<S: ByteSource>(source: &mut S, last: Offset, next: &Neighbour) -> io::Result<bool> {
    let third = neighbour(source, next.end)?;
    Ok(third.is_some_and(|third| next.length.is_some_and(|length| third.base == last.next().plus(length))))
}
