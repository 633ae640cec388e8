//! Finds where the log goes on behind bytes that are no batch.
//!
//! First where the broken batch itself says that it ends; then byte by byte. Two things make a
//! place the right one:
//!
//! - the checksum that the broken batch carries fits the bytes up to there: then only its length
//!   is wrong, and it can be read after all;
//! - a batch stands there that proves itself by its own checksum and fits by its offset. One whose
//!   offset follows the broken batch is taken at once; for any other the search looks a little
//!   further, because a record can hold a whole batch of another log.
//!
//! The work is bounded by an allowance for the whole file: whoever makes a file of headers that
//! each ask for a long checksum gets the rest of it reported as unread.

use super::candidate::{Candidate, Prefix, examine, to_u64};
use super::checksum::Checksum;
use super::order::Order;
use crate::format::record_batch::{BatchHeader, HEADER_LENGTH};
use crate::format::source::ByteSource;
use crate::units::Offset;
use std::io;

/// How far the search looks at once.
const WINDOW: usize = 64 << 10;
/// How far the search goes on behind a batch that could as well stand inside the broken one.
const LOOK_BEYOND: u64 = 16 << 20;
/// Bytes of checksums that damage may cost in a file of any size.
const ALLOWANCE: u64 = 256 << 20;
/// And as a multiple of the file.
const ALLOWANCE_FACTOR: u64 = 16;

/// Where the log goes on.
#[derive(Debug)]
pub(super) enum Resumed {
    /// At this position.
    At { position: u64, next: Next },
    /// Only the length of the broken batch is wrong: it ends here. The header when it is one of
    /// format 2.
    LengthOnly { position: u64, header: Option<BatchHeader> },
    /// Nowhere.
    Nowhere,
    /// The allowance is used up.
    GaveUp,
}

/// What stands where the broken batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A batch; a wrapper has no base offset to tell.
    Batch { base_offset: Option<Offset> },
    /// Nothing but zeros, or the end of the file.
    Nothing,
}

/// Bytes that damage may still cost, and a stretch of zeros that was seen already.
#[derive(Clone, Debug)]
pub(super) struct Effort {
    allowance: u64,
    zeros: (u64, u64),
}

impl Effort {
    pub(super) const fn for_file(length: u64) -> Self {
        Self { allowance: ALLOWANCE.saturating_add(length.saturating_mul(ALLOWANCE_FACTOR)), zeros: (0, 0) }
    }

    /// Uses up `bytes`; `None` when there are not so many.
    pub(super) fn spend(&mut self, bytes: u64) -> Option<()> {
        let left = self.allowance.checked_sub(bytes);
        self.allowance = left.unwrap_or(0);
        left.map(|_| ())
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.allowance == 0
    }

    /// Where the zeros that begin at `start` end: `start` itself when there are none.
    pub(super) fn end_of_zeros<S: ByteSource>(&mut self, source: &mut S, start: u64) -> io::Result<u64> {
        let mut at = start;
        while at < source.len() {
            let (known, end) = self.zeros;
            if known <= at && at < end {
                at = end;
                break;
            }
            let window = source.window(at, WINDOW)?;
            let part = window.get(..WINDOW).unwrap_or(window);
            let zeros = part.iter().position(|&byte| byte != 0).unwrap_or(part.len());
            let (zeros, seen) = (to_u64(zeros), to_u64(part.len()));
            at = at.saturating_add(zeros);
            if zeros < seen || seen == 0 {
                break;
            }
            if self.spend(seen).is_none() {
                break;
            }
        }
        if at > start {
            self.zeros = (start, at);
        }
        Ok(at)
    }
}

/// What can still be read of a broken batch.
struct Wreck {
    start: u64,
    /// The next base offset, when its own offsets can be believed.
    next: Option<Offset>,
    /// Whether it looks like a batch that was not written to its end, so that nothing comes behind
    /// it, and a batch among its bytes is one in its records.
    looks_torn: bool,
}

impl Wreck {
    fn read(bytes: &[u8], start: u64, torn: Torn, order: &Order) -> Self {
        let header = BatchHeader::read(bytes).ok().filter(|(header, _)| header.magic == 2);
        let believed = header.filter(|(header, _)| order.admits(header));
        let is_sane = believed.as_ref().is_some_and(|(header, length)| {
            let records = i64::from(header.last_offset_delta).saturating_add(1);
            *length > 0
                && header.attributes & !0x7f == 0
                && header.codec().is_some()
                && header.records_count.is_some_and(|count| i64::from(count) <= records)
        });
        let next = believed.map(|(header, _)| header.last_offset().next());
        Self { start, next, looks_torn: torn == Torn::Possible && is_sane }
    }
}

/// The running checksum of a broken batch, to be compared where another batch begins.
struct Closing {
    magic: i8,
    stored: u32,
    checksum: Checksum,
    upto: u64,
}

impl Closing {
    fn begin(bytes: &[u8], start: u64) -> Option<Self> {
        let prefix = Prefix::read(bytes)?;
        let (stored, checksum, skipped) = match prefix.magic {
            0 | 1 => (bytes.get(12..16)?, Checksum::iso(), 16),
            2 => (bytes.get(17..21)?, Checksum::castagnoli(), 21),
            _ => return None,
        };
        let stored = u32::from_be_bytes(*stored.first_chunk()?);
        Some(Self { magic: prefix.magic, stored, checksum, upto: start.saturating_add(skipped) })
    }

    /// Whether the stored checksum fits the bytes up to `end`; `None` when that costs too much.
    fn closes_at<S: ByteSource>(
        &mut self,
        source: &mut S,
        end: u64,
        effort: &mut Effort,
    ) -> io::Result<Option<bool>> {
        if end <= self.upto {
            return Ok(Some(false));
        }
        while self.upto < end {
            let wanted = usize::try_from(end.saturating_sub(self.upto)).unwrap_or(usize::MAX).min(WINDOW);
            let window = source.window(self.upto, wanted)?;
            let part = window.get(..wanted).unwrap_or(window);
            if part.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.checksum.update(part);
            self.upto = self.upto.saturating_add(to_u64(part.len()));
            if effort.spend(to_u64(part.len())).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(self.checksum.value() == self.stored))
    }
}

/// Whether a segment can end in a batch that was not written to its end, and this one says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Torn {
    Possible,
    Excluded,
}

/// Looks for the place where the log goes on behind the broken batch at `start`.
pub(super) fn resume<S: ByteSource>(
    source: &mut S,
    start: u64,
    declared: Option<u64>,
    torn: Torn,
    order: &Order,
    effort: &mut Effort,
) -> io::Result<Resumed> {
    let window = source.window(start, HEADER_LENGTH)?;
    let wreck = Wreck::read(window, start, torn, order);
    let closing = Closing::begin(window, start);
    let mut search = Search { source, order, effort, wreck, closing };
    let Some(declared) = declared else { return search.run(u64::MAX) };
    let end = start.saturating_add(declared);
    let Some(next) = search.behind(end)? else { return search.run(u64::MAX) };
    let follows = search.wreck.next.is_some() && next == Next::Batch { base_offset: search.wreck.next };
    if !follows {
        // A wrong length can lead to another batch than the next one. Its checksum knows.
        match search.run(end)? {
            found @ (Resumed::LengthOnly { .. } | Resumed::GaveUp) => return Ok(found),
            Resumed::At { .. } | Resumed::Nowhere => {}
        }
        if let Some((position, base_offset)) = search.chain_up_to(end)? {
            return Ok(Resumed::At { position, next: Next::Batch { base_offset } });
        }
        // A batch can end in zeros, so that a short length leads to what looks like a zero tail.
        let file_end = search.source.len();
        if next == Next::Nothing
            && file_end.saturating_sub(end) <= to_u64(WINDOW)
            && search.closes_at(file_end)?
        {
            return search.length_only(file_end);
        }
    }
    Ok(Resumed::At { position: end, next })
}

struct Search<'s, S> {
    source: &'s mut S,
    order: &'s Order,
    effort: &'s mut Effort,
    wreck: Wreck,
    closing: Option<Closing>,
}

impl<S: ByteSource> Search<'_, S> {
    /// What stands at `end`; `None` when nothing there proves anything.
    fn behind(&mut self, end: u64) -> io::Result<Option<Next>> {
        if end >= self.source.len() {
            return Ok(Some(Next::Nothing));
        }
        if let Some(prefix) = Prefix::read(self.source.window(end, HEADER_LENGTH)?) {
            let base = prefix.base_offset;
            let follows = Some(base) == self.wreck.next;
            if self.order.admits_base(base) && prefix.length >= prefix.smallest() {
                let proved = self.proves(end)?.map(|(_, header)| base_offset(&header));
                // One that is broken itself is still the next one when its offset says so.
                let proved = proved.or_else(|| follows.then_some(Some(base)));
                return Ok(proved.map(|base_offset| Next::Batch { base_offset }));
            }
            if follows {
                return Ok(Some(Next::Batch { base_offset: Some(base) }));
            }
        }
        let zeros = self.effort.end_of_zeros(self.source, end)?;
        Ok((zeros >= self.source.len()).then_some(Next::Nothing))
    }

    /// The batch at `position`, with its size, when it proves itself and fits.
    fn proves(&mut self, position: u64) -> io::Result<Option<(u64, BatchHeader)>> {
        Ok(match examine(self.source, position)? {
            Candidate::Whole { size, header } | Candidate::OtherMagic { size, header, .. } => {
                self.order.admits(&header).then_some((size, header))
            }
            Candidate::Broken { cost, .. } => {
                // An exhausted allowance is noticed by the next step that needs it.
                let _ = self.effort.spend(cost);
                None
            }
        })
    }

    /// Goes forward from the broken batch up to `limit`. Below a limit that is not the end of the
    /// file only the checksum of the broken batch counts.
    fn run(&mut self, limit: u64) -> io::Result<Resumed> {
        let end = self.source.len().min(limit);
        let by_own_proof = limit == u64::MAX;
        let mut found: Option<(u64, Option<Offset>)> = None;
        let mut last = end;
        let mut at = self.wreck.start.saturating_add(1);
        while at < last {
            let Some(hop) = self.next_possible(at, last)? else {
                let passed = to_u64(WINDOW.saturating_sub(super::candidate::PREFIX));
                at = at.saturating_add(passed);
                continue;
            };
            at = at.saturating_add(hop);
            if at >= last {
                break;
            }
            if self.effort.is_spent() {
                return Ok(Resumed::GaveUp);
            }
            if self.closes_at(at)? {
                return self.length_only(at);
            }
            if by_own_proof
                && found.is_none()
                && self.can_prove(at)?
                && let Some((size, header)) = self.proves(at)?
            {
                let base = base_offset(&header);
                if (self.wreck.next.is_some() && base == self.wreck.next) || self.closing.is_none() {
                    return Ok(Resumed::At { position: at, next: Next::Batch { base_offset: base } });
                }
                if !self.wreck.looks_torn || self.leads_to_the_end(at.saturating_add(size), &header)? {
                    found = Some((at, base));
                    last = end.min(at.saturating_add(LOOK_BEYOND));
                    // Looking beyond is extra work; the way up to here is not.
                    if self.effort.spend(last.saturating_sub(at)).is_none() {
                        break;
                    }
                }
            }
            at = at.saturating_add(1);
        }
        if let Some((position, base_offset)) = found {
            return Ok(Resumed::At { position, next: Next::Batch { base_offset } });
        }
        if by_own_proof && self.closes_at(end)? {
            return self.length_only(end);
        }
        Ok(if self.effort.is_spent() { Resumed::GaveUp } else { Resumed::Nowhere })
    }

    /// The first of batches in line that prove themselves and end where the declared length leads to: a wrong length can
    /// lead across them.
    ///
    /// A batch within a record ends in front of that place: the number of headers comes behind a value. Where a format
    /// puts nothing there, its own checksum has to be unknown.
    fn chain_up_to(&mut self, end: u64) -> io::Result<Option<(u64, Option<Offset>)>> {
        if self.closing.as_ref().is_some_and(|closing| closing.magic < 2) {
            return Ok(None);
        }
        let mut at = self.wreck.start.saturating_add(1);
        while at < end && !self.effort.is_spent() {
            let Some(hop) = self.next_possible(at, end)? else {
                let passed = to_u64(WINDOW.saturating_sub(super::candidate::PREFIX));
                at = at.saturating_add(passed);
                continue;
            };
            at = at.saturating_add(hop);
            let (mut behind, mut first) = (at, None);
            while behind < end
                && self.can_prove(behind)?
                && let Some((size, header)) = self.proves(behind)?
            {
                first = first.or(Some(base_offset(&header)));
                behind = behind.saturating_add(size);
                if self.effort.spend(size).is_none() {
                    return Ok(None);
                }
            }
            match first {
                Some(base) if behind == end => return Ok(Some((at, base))),
                // What begins within these ends where they do.
                Some(_) => at = behind,
                None => at = at.saturating_add(1),
            }
        }
        Ok(None)
    }

    /// Whether a batch of this segment could stand at `at`.
    fn can_prove(&mut self, at: u64) -> io::Result<bool> {
        let prefix = Prefix::read(self.source.window(at, super::candidate::PREFIX)?);
        Ok(prefix.is_some_and(|prefix| {
            (0..=2).contains(&prefix.magic)
                && prefix.length >= prefix.smallest()
                && self.order.admits_base(prefix.base_offset)
        }))
    }

    /// How far it is from `at` to the first place where the broken batch could end: where another
    /// begins, or what is left of the start of one.
    fn next_possible(&mut self, at: u64, end: u64) -> io::Result<Option<u64>> {
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        let longest = self.source.len().saturating_sub(at);
        let window = self.source.window(at, WINDOW)?;
        let window = window.get(..WINDOW).unwrap_or(window);
        let (order, next) = (self.order, self.wreck.next);
        let hop = window.windows(super::candidate::PREFIX).take(left).position(|bytes| {
            Prefix::read(bytes).is_some_and(|prefix| {
                let can_begin = (0..=2).contains(&prefix.magic)
                    && prefix.length >= prefix.smallest()
                    && (order.admits_base(prefix.base_offset) || prefix.size() <= longest);
                can_begin || Some(prefix.base_offset) == next
            })
        });
        Ok(hop.map(to_u64))
    }

    fn closes_at(&mut self, position: u64) -> io::Result<bool> {
        let Some(closing) = &mut self.closing else { return Ok(false) };
        let closes = closing.closes_at(self.source, position, self.effort)?;
        if closes.is_none() {
            self.closing = None;
        }
        Ok(closes == Some(true))
    }

    fn length_only(&mut self, position: u64) -> io::Result<Resumed> {
        let is_batch = self.closing.as_ref().is_some_and(|closing| closing.magic == 2);
        let header = BatchHeader::read(self.source.window(self.wreck.start, HEADER_LENGTH)?);
        let header = header.ok().map(|(header, _)| header).filter(|_| is_batch);
        Ok(Resumed::LengthOnly { position, header })
    }

    /// Whether plausible batches lead from `end` to the end of the file, which is more than those
    /// in a record can do.
    fn leads_to_the_end(&mut self, end: u64, header: &BatchHeader) -> io::Result<bool> {
        let (mut at, mut last) = (end, header.last_offset());
        while at < self.source.len() {
            let window = self.source.window(at, HEADER_LENGTH)?;
            let Some(prefix) = Prefix::read(window) else {
                return Ok(self.order.admits_start_of_base(window, last.next()));
            };
            let is_plausible = prefix.magic <= 2
                && prefix.length >= prefix.smallest()
                && prefix.base_offset > last
                && self.order.admits_base(prefix.base_offset);
            if !is_plausible {
                return Ok(self.effort.end_of_zeros(self.source, at)? >= self.source.len());
            }
            if self.effort.spend(to_u64(HEADER_LENGTH)).is_none() {
                return Ok(false);
            }
            last = prefix.base_offset;
            at = at.saturating_add(prefix.size());
        }
        Ok(true)
    }
}

/// The base offset of a batch; `None` for a wrapper, which has only its last.
fn base_offset(header: &BatchHeader) -> Option<Offset> {
    header.records_count.map(|_| header.base_offset)
}
