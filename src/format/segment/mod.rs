//! Cuts a `.log` file into batches and damage, so that every byte is in exactly one of them.
//!
//! A segment is a plain concatenation of batches. The scan checks the checksum of each, goes on
//! behind damage at the next batch that proves itself ([`resync`]), tells torn and zero tails,
//! which a log that was not closed cleanly is expected to have, from bytes that went bad, and
//! notices batches whose offset does not fit between their neighbours ([`order`]).
//!
//! Some damage leaves a batch readable, because the checksum covers neither base offset, length
//! nor magic byte. Such a batch is handed out as [`Suspect`]: together with its damage note, which
//! spans exactly its bytes, so that it is neither lost nor counted twice.
//!
//! Promised for any bytes: the items follow each other without a hole, the last one ends with the
//! file, each takes at least one byte, and the work is proportional to the file.
//!
//! Source: `FileLogInputStream`, `DefaultRecordBatch`, `LogSegment.recover` in Apache Kafka.
//! Kafka's own reader stops at the first bad size; a broker only checks what lies above its
//! recovery point, so a bad batch in the middle of a closed segment stays there for ever.

mod candidate;
mod checksum;
mod order;
mod resync;

use self::candidate::{Candidate, Fault, PREFIX, Prefix, examine, to_u64};
use self::order::{Order, Place, place_ahead};
use self::resync::{Effort, Next, Resumed, Torn, resume};
use super::damage::{Damage, DamageKind};
use super::record_batch::{Batch, BatchHeader, HEADER_LENGTH};
use super::source::ByteSource;
use crate::units::{FilePosition, Offset};
use std::io;

/// Zeros at the end of a batch from which on it was not written to its end: fewer can be its own.
const TORN_ZEROS: u64 = 16;

/// What a scan finds, in the order of the file.
#[derive(Debug)]
pub enum SegmentItem<'a> {
    /// A batch with the right checksum in its place.
    Batch(Batch<'a>),
    /// A batch that can be read although it is damaged or out of its place.
    Suspect(Suspect<'a>),
    /// Bytes that are no batch.
    Damage(Damage),
}

/// A batch whose content is proved by its checksum, with the damage to what the checksum does not
/// cover. Kafka would refuse it, or serve it under another offset.
#[derive(Debug)]
pub struct Suspect<'a> {
    /// The batch; its header has the base offset that is stored.
    pub batch: Batch<'a>,
    /// What is wrong: [`DamageKind::BadOffset`], [`DamageKind::BadMagic`] or
    /// [`DamageKind::BadLength`]. It spans the bytes of the batch.
    pub damage: Damage,
    /// The base offset with which it stands in line between its neighbours; `None` when its offsets
    /// step back, repeat others, or cannot be told.
    pub belongs_at: Option<Offset>,
}

impl<'a> Suspect<'a> {
    /// The batch with the base offset with which it stands in line; `None` when it does not.
    #[must_use]
    pub fn in_line(self) -> Option<Batch<'a>> {
        let mut batch = self.batch;
        batch.header.base_offset = self.belongs_at?;
        Some(batch)
    }
}

/// Whether a torn or zero tail is what this segment is expected to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailExpectation {
    /// The active segment of a log that was not closed cleanly, or was copied while it was written.
    MayBeTorn,
    /// A closed segment, or one beside a clean-shutdown marker.
    MustBeWhole,
}

/// Walks over one segment.
#[derive(Debug)]
pub struct SegmentScanner<S> {
    source: S,
    position: u64,
    order: Order,
    tail: TailExpectation,
    effort: Effort,
}

/// What a scan knows between two items.
#[cfg(any(test, feature = "testkit"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    position: u64,
    order: Order,
}

/// An item without its bytes.
enum Step {
    Batch { size: u64, header: BatchHeader },
    Suspect { header: BatchHeader, damage: Damage, belongs_at: Option<Offset> },
    Damage(Damage),
}

impl<S: ByteSource> SegmentScanner<S> {
    /// Begins at the first byte of a segment whose name says `segment_base`.
    pub fn new(source: S, segment_base: Offset, tail: TailExpectation) -> Self {
        // A segment spans at most 2³¹ offsets, because its index counts them in 32 bits.
        let upper = segment_base.plus(i64::from(i32::MAX)).next();
        let order = Order { lowest: Some(segment_base), exact: true, behind: None, before_step: None, upper };
        Self::with_order(source, order, tail)
    }

    /// Begins at the first byte of a file whose name does not say where its offsets begin.
    pub fn unnamed(source: S, tail: TailExpectation) -> Self {
        let order =
            Order { lowest: None, exact: false, behind: None, before_step: None, upper: Offset(i64::MAX) };
        Self::with_order(source, order, tail)
    }

    fn with_order(source: S, order: Order, tail: TailExpectation) -> Self {
        let effort = Effort::for_file(source.len());
        Self { source, position: 0, order, tail, effort }
    }

    /// Says where the next segment begins: no offset of this one can reach it.
    #[must_use]
    pub fn before(mut self, next_segment_base: Offset) -> Self {
        self.order.upper = self.order.upper.min(next_segment_base);
        self
    }

    /// Begins at `position` instead, where a batch begins; `next_offset` is the offset behind the
    /// batch before it, when that is known.
    #[must_use]
    pub fn starting_at(mut self, position: FilePosition, next_offset: Option<Offset>) -> Self {
        self.position = position.0;
        match next_offset {
            Some(next) => self.order.advance(next, next),
            None if position.0 > 0 => self.order.skip(),
            None => {}
        }
        self
    }

    /// What the scan knows at this place; with the bytes behind it, it decides all that follows.
    #[cfg(any(test, feature = "testkit"))]
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing { position: self.position, order: self.order.clone() }
    }

    /// Goes on from what another scan of the same segment knew.
    #[cfg(any(test, feature = "testkit"))]
    #[must_use]
    pub fn going_on(mut self, from: &Standing) -> Self {
        self.position = from.position;
        self.order = from.order.clone();
        self
    }

    /// Where the next item begins.
    #[must_use]
    pub const fn position(&self) -> FilePosition {
        FilePosition(self.position)
    }

    /// The next batch or damage; `None` at the end of the file.
    ///
    /// # Errors
    /// The error of the source. The bytes from [`SegmentScanner::position`] on were not looked at.
    pub fn next_item(&mut self) -> io::Result<Option<SegmentItem<'_>>> {
        let position = self.position;
        if position >= self.source.len() {
            return Ok(None);
        }
        let item = match self.step()? {
            Step::Batch { size, header } => SegmentItem::Batch(self.take(size, header)?),
            Step::Suspect { header, damage, belongs_at } => {
                let batch = self.take(damage.length, header)?;
                SegmentItem::Suspect(Suspect { batch, damage, belongs_at })
            }
            Step::Damage(damage) => {
                self.position = position.saturating_add(damage.length.max(1));
                SegmentItem::Damage(damage)
            }
        };
        Ok(Some(item))
    }

    fn take(&mut self, size: u64, header: BatchHeader) -> io::Result<Batch<'_>> {
        let position = self.position;
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let bytes = self.source.window(position, length)?;
        let Some(bytes) = bytes.get(..length) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        self.position = position.saturating_add(size);
        Ok(Batch { position: FilePosition(position), bytes, header })
    }

    fn step(&mut self) -> io::Result<Step> {
        if self.effort.is_spent() {
            return Ok(Step::Damage(self.unread()));
        }
        match examine(&mut self.source, self.position)? {
            Candidate::Whole { size, header } => self.whole(size, header),
            Candidate::OtherMagic { size, header, magic } => {
                let detail = format!("magic {magic}, the checksum fits format 2");
                Ok(self.suspect(DamageKind::BadMagic, size, header, detail))
            }
            Candidate::Broken { fault, declared, cost } => {
                // What an exhausted allowance means is said by the next step.
                let _ = self.effort.spend(cost);
                self.broken(&fault, declared)
            }
        }
    }

    fn whole(&mut self, size: u64, header: BatchHeader) -> io::Result<Step> {
        let place = match self.order.place(&mut self.source, &header, self.position, size)? {
            Place::Ahead => self.ahead(size, &header)?,
            place => place,
        };
        match place {
            Place::Fits | Place::Ahead => {
                self.order.advance(header.base_offset, header.last_offset().next());
                Ok(Step::Batch { size, header })
            }
            Place::Misplaced { belongs_at, missing, detail } => {
                match belongs_at {
                    Some(base) => {
                        self.order.advance(base, base.plus(i64::from(header.last_offset_delta)).next());
                    }
                    // Right by its neighbours, and beyond what this file may hold.
                    None if self.order.lowest == Some(header.base_offset) => {
                        self.order.advance(header.base_offset, header.last_offset().next());
                    }
                    None => self.order.pass(header.last_offset().next()),
                }
                let damage = Damage {
                    position: FilePosition(self.position),
                    length: size,
                    kind: DamageKind::BadOffset,
                    expected: false,
                    detail,
                    first_offset: missing.map(|(first, _)| first),
                    last_offset: missing.map(|(_, last)| last),
                    records_missing: belongs_at.is_none() || missing.is_some(),
                };
                Ok(Step::Suspect { header, damage, belongs_at })
            }
        }
    }

    /// Looks behind what cannot be read for a batch that says whether this one is out of place.
    fn ahead(&mut self, size: u64, header: &BatchHeader) -> io::Result<Place> {
        let end = self.position.saturating_add(size);
        let Candidate::Broken { declared, cost, .. } = examine(&mut self.source, end)? else {
            return Ok(Place::Ahead);
        };
        // What an exhausted allowance means is said by the next step.
        let _ = self.effort.spend(cost);
        let (source, effort) = (&mut self.source, &mut self.effort);
        match resume(source, end, declared, Torn::Excluded, &self.order, effort)? {
            Resumed::At { position, next: Next::Batch { .. } } | Resumed::LengthOnly { position, .. } => {
                place_ahead(&mut self.source, header, position)
            }
            Resumed::At { .. } | Resumed::Nowhere | Resumed::GaveUp => Ok(Place::Ahead),
        }
    }

    /// A batch of which the checksum proves all but the place in line.
    fn suspect(&mut self, kind: DamageKind, length: u64, header: BatchHeader, detail: String) -> Step {
        let belongs_at = Some(header.base_offset).filter(|_| self.order.admits(&header));
        match belongs_at {
            Some(base) => self.order.advance(base, header.last_offset().next()),
            None => self.order.pass(header.last_offset().next()),
        }
        let damage = Damage {
            position: FilePosition(self.position),
            length,
            kind,
            expected: false,
            detail,
            first_offset: belongs_at,
            last_offset: belongs_at.map(|_| header.last_offset()),
            records_missing: belongs_at.is_none(),
        };
        Step::Suspect { header, damage, belongs_at }
    }

    fn broken(&mut self, fault: &Fault, declared: Option<u64>) -> io::Result<Step> {
        let (start, end) = (self.position, self.source.len());
        let left = end.saturating_sub(start);
        let zeros_end = self.effort.end_of_zeros(&mut self.source, start)?;
        if zeros_end >= end && left > to_u64(PREFIX) {
            let detail = format!("all {left} bytes to the end of the file are zero");
            return Ok(self.tail(left, DamageKind::ZeroTail, detail));
        }
        let torn = match (self.tail, fault) {
            (TailExpectation::MayBeTorn, Fault::PastEnd { .. }) => Torn::Possible,
            _ => Torn::Excluded,
        };
        let found = resume(&mut self.source, start, declared, torn, &self.order, &mut self.effort)?;
        match found {
            Resumed::GaveUp => Ok(Step::Damage(self.unread())),
            Resumed::LengthOnly { position, header } => {
                let length = position.saturating_sub(start);
                let fits = length.saturating_sub(to_u64(super::record_batch::LOG_OVERHEAD));
                let detail = format!("{fault}; the checksum fits a batch length of {fits}");
                match header {
                    Some(header) => Ok(self.suspect(DamageKind::BadLength, length, header, detail)),
                    None => self.hole(position, DamageKind::BadLength, detail, None),
                }
            }
            Resumed::At { position, next } if position < end => {
                let base_offset = match next {
                    Next::Batch { base_offset } => base_offset,
                    Next::Nothing => {
                        if let Some(step) = self.torn_before_zeros(position)? {
                            return Ok(step);
                        }
                        None
                    }
                };
                let mut kind = fault.kind();
                let mut detail = fault.to_string();
                if zeros_end >= position {
                    kind = DamageKind::BadLength;
                    let length = position.saturating_sub(start);
                    detail = format!("{length} zero bytes, the log goes on behind them");
                } else if kind == DamageKind::TruncatedTail {
                    kind = DamageKind::BadLength;
                }
                self.hole(position, kind, detail, base_offset)
            }
            Resumed::At { .. } => Ok(self.tail(left, fault.kind(), fault.to_string())),
            Resumed::Nowhere => {
                if let Some(step) = self.torn_header(zeros_end)? {
                    return Ok(step);
                }
                Ok(self.tail(left, fault.kind(), fault.to_string()))
            }
        }
    }

    /// Damage up to `end`, where the log goes on at `base_offset`.
    fn hole(
        &mut self,
        end: u64,
        kind: DamageKind,
        detail: String,
        base_offset: Option<Offset>,
    ) -> io::Result<Step> {
        let own = Prefix::read(self.source.window(self.position, PREFIX)?).map(|prefix| prefix.base_offset);
        let own = own.filter(|&own| self.order.admits_base(own) && base_offset.is_none_or(|next| own < next));
        let first = own.or(self.order.lowest);
        let last = base_offset.map(|next| next.plus(-1));
        let nothing_missing = last.is_some() && last < first;
        self.order.skip();
        Ok(Step::Damage(Damage {
            position: FilePosition(self.position),
            length: end.saturating_sub(self.position),
            kind,
            expected: false,
            detail,
            first_offset: first.filter(|_| !nothing_missing),
            last_offset: last.filter(|_| !nothing_missing),
            records_missing: !nothing_missing,
        }))
    }

    /// Damage of `length` bytes behind which no batch comes.
    fn tail(&mut self, length: u64, kind: DamageKind, detail: String) -> Step {
        self.order.skip();
        let can_be_torn = matches!(kind, DamageKind::TruncatedTail | DamageKind::ZeroTail);
        Step::Damage(Damage {
            position: FilePosition(self.position),
            length,
            kind,
            expected: can_be_torn && self.tail == TailExpectation::MayBeTorn,
            detail,
            first_offset: self.order.lowest,
            last_offset: None,
            records_missing: true,
        })
    }

    /// A batch that ends in zeros and is followed by nothing but zeros: it was not written to its
    /// end, and what was reserved behind it stayed empty.
    fn torn_before_zeros(&mut self, end: u64) -> io::Result<Option<Step>> {
        let probe = end.saturating_sub(TORN_ZEROS).max(self.position);
        if self.effort.end_of_zeros(&mut self.source, probe)? < self.source.len() {
            return Ok(None);
        }
        let length = end.saturating_sub(self.position);
        let detail = format!("the end of a batch of {length} bytes is zero, as all that follows");
        Ok(Some(self.tail(length, DamageKind::TruncatedTail, detail)))
    }

    /// Less than a header, and then nothing but zeros.
    fn torn_header(&mut self, zeros_end: u64) -> io::Result<Option<Step>> {
        let window = self.source.window(zeros_end, HEADER_LENGTH)?;
        let window = window.get(..HEADER_LENGTH).unwrap_or(window);
        let Some(last) = window.iter().rposition(|&byte| byte != 0) else { return Ok(None) };
        let zeros = zeros_end.saturating_add(to_u64(last)).saturating_add(1);
        let left = self.source.len().saturating_sub(zeros);
        if left <= to_u64(PREFIX) || self.effort.end_of_zeros(&mut self.source, zeros)? < self.source.len() {
            return Ok(None);
        }
        let length = zeros.saturating_sub(self.position);
        let detail = format!("{length} bytes of a batch, all that follows is zero");
        Ok(Some(self.tail(length, DamageKind::TruncatedTail, detail)))
    }

    /// What is left when the allowance for damage is used up.
    fn unread(&mut self) -> Damage {
        let left = self.source.len().saturating_sub(self.position);
        self.order.skip();
        Damage {
            position: FilePosition(self.position),
            length: left,
            kind: DamageKind::Unreadable,
            expected: false,
            detail: format!("too much damage before: the last {left} bytes were not searched"),
            first_offset: self.order.lowest,
            last_offset: None,
            records_missing: true,
        }
    }
}

#[cfg(test)]
mod tests;
