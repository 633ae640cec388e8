//! Leaves the page cache as it was: which pages of a file were there before it is read, so that only
//! what the reading brought in is dropped behind it.
//!
//! Goes in: an open file, and where it is about to be read. Comes out: a map of what was absent there,
//! by asking `cachestat` (Linux 6.5), a stretch at a time: to ask for a whole segment costs as much as
//! reading a few megabytes of it. Nothing is mapped. Where the system does not tell (an older kernel, or a file that belongs to
//! somebody else), nothing is dropped; `POSIX_FADV_NOREUSE` then still marks what was read as the first
//! to go. Reads that may not wait (`RWF_NOWAIT`) do not serve: they let the kernel read ahead.

use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::num::NonZeroU64;
use std::ops::Range;

/// Pages are dropped up to such a border: a page of several, which the kernel cannot drop in part, ends
/// there as well.
const BORDER: u64 = 2 << 20;
/// How far the kernel may have read ahead of what was asked for: twice the window of a disk, which is
/// doubled for who reads in order; 8 MiB are common on machines of clouds.
const AHEAD: u64 = 64 << 20;
/// What is asked for at once.
const STRETCH: u64 = 4 << 20;

/// The pages of one file that were absent before it was read, and those of them that have been touched
/// since.
#[derive(Debug)]
pub(super) struct Residency {
    pages: Pages,
    /// Which stretches were asked for.
    known: Vec<bool>,
    /// One bit a page: set where it was absent.
    absent: Vec<u64>,
    /// What was read and not dropped, in bytes.
    touched: Option<Range<u64>>,
    /// How far the kernel may read ahead.
    ahead: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pages {
    size: u64,
    count: u64,
}

impl Residency {
    /// Of the first `len` bytes, none of which was looked at.
    pub(super) fn of(len: u64) -> Self {
        let size = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        let pages = Pages { size, count: len.div_ceil(size) };
        let words = usize::try_from(pages.count.div_ceil(64)).unwrap_or(0);
        let stretches = usize::try_from(len.div_ceil(STRETCH)).unwrap_or(0);
        Self { pages, known: vec![false; stretches], absent: vec![0; words], touched: None, ahead: AHEAD }
    }

    /// Has the kernel read nothing ahead.
    pub(super) fn without_read_ahead(&mut self, file: &File) {
        if fadvise(file, 0, None, Advice::Random).is_ok() {
            self.ahead = 0;
        }
    }

    /// Looks at what is about to be read and at what the kernel may read with it; `None` where the
    /// system does not tell.
    pub(super) fn before(&mut self, file: &File, read: &Range<u64>) -> Option<()> {
        let last = read.end.saturating_add(self.ahead) / STRETCH;
        for at in read.start / STRETCH..=last {
            let Some(known) = usize::try_from(at).ok().and_then(|at| self.known.get_mut(at)) else { break };
            if !std::mem::replace(known, true) {
                let in_stretch = STRETCH / self.pages.size;
                let first = at * in_stretch;
                self.look(file, first..(first + in_stretch).min(self.pages.count))?;
            }
        }
        Some(())
    }

    /// Halves what is neither wholly there nor wholly absent.
    fn look(&mut self, file: &File, range: Range<u64>) -> Option<()> {
        let count = range.end - range.start;
        let cached = cachestat::cached(file, range.start * self.pages.size, count * self.pages.size)?;
        if cached >= count {
            return Some(());
        }
        if cached == 0 {
            self.mark(range);
            return Some(());
        }
        let middle = range.start + count / 2;
        self.look(file, range.start..middle)?;
        self.look(file, middle..range.end)
    }

    fn mark(&mut self, range: Range<u64>) {
        for page in range {
            if let Some(word) = usize::try_from(page / 64).ok().and_then(|at| self.absent.get_mut(at)) {
                *word |= 1 << (page % 64);
            }
        }
    }

    fn was_absent(&self, page: u64) -> bool {
        let word = usize::try_from(page / 64).ok().and_then(|at| self.absent.get(at));
        word.is_some_and(|word| word & (1 << (page % 64)) != 0)
    }

    /// Says that `read` was read, and that nothing below its end is needed from the cache again.
    pub(super) fn passed(&mut self, file: &File, read: Range<u64>) {
        let touched = match self.touched.take() {
            Some(before) if before.start <= read.start && read.start <= before.end => {
                before.start..read.end.max(before.end)
            }
            Some(before) => {
                // Somewhere else: what was read there is dropped with what was read ahead.
                self.drop_pages(file, before.start..before.end.saturating_add(self.ahead));
                read
            }
            None => read,
        };
        let border = touched.end / BORDER * BORDER;
        if border > touched.start {
            self.drop_pages(file, touched.start..border);
        }
        self.touched = Some(touched.start.max(border)..touched.end);
    }

    /// Drops what is left.
    pub(super) fn finish(&mut self, file: &File) {
        if let Some(touched) = self.touched.take() {
            self.drop_pages(file, touched.start..touched.end.saturating_add(self.ahead));
        }
    }

    /// Drops the pages in a range of bytes that were absent, stretch by stretch.
    fn drop_pages(&self, file: &File, bytes: Range<u64>) {
        let size = self.pages.size;
        let end = bytes.end.div_ceil(size).min(self.pages.count);
        let mut page = bytes.start / size;
        while page < end {
            if !self.was_absent(page) {
                page += 1;
                continue;
            }
            let first = page;
            while page < end && self.was_absent(page) {
                page += 1;
            }
            // A hint: where it is refused the pages stay.
            let _ = fadvise(file, first * size, NonZeroU64::new((page - first) * size), Advice::DontNeed);
        }
    }
}

/// The system call, which no crate of ours wraps.
mod cachestat {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// Number of the call, the same on all machines but alpha.
    const NUMBER: libc::c_long = 451;

    #[repr(C)]
    struct ByteRange {
        offset: u64,
        length: u64,
    }

    #[repr(C)]
    #[derive(Default)]
    struct Counts {
        cached: u64,
        dirty: u64,
        in_writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }

    /// How many pages of a range are in the page cache; `None` where the system does not tell.
    pub(super) fn cached(file: &File, offset: u64, length: u64) -> Option<u64> {
        let range = ByteRange { offset, length };
        let mut counts = Counts::default();
        // SAFETY: `cachestat(2)` takes a file, a range, a place for five numbers of 64 bits and flags,
        // of which there are none. Both structures are laid out as `linux/mman.h` has them, live until
        // the call returns, and only the second is written to. A kernel without the call says so.
        let done = unsafe {
            libc::syscall(NUMBER, file.as_raw_fd(), &raw const range, &raw mut counts, libc::c_uint::MIN)
        };
        (done == 0).then_some(counts.cached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A file on a disk (not in memory, where nothing can be dropped), of which nothing is cached.
    fn cold(pages: u64) -> Option<tempfile::NamedTempFile> {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let page = rustix::param::page_size();
        file.write_all(&vec![7; page * usize::try_from(pages).unwrap()]).unwrap();
        file.as_file().sync_all().unwrap();
        fadvise(file.as_file(), 0, None, Advice::DontNeed).unwrap();
        let len = file.as_file().metadata().unwrap().len();
        (absent_pages(&looked(file.as_file(), len)?) == pages).then_some(file)
    }

    fn looked(file: &File, len: u64) -> Option<Residency> {
        let mut map = Residency::of(len);
        map.before(file, &(0..len)).map(|()| map)
    }

    fn absent_pages(map: &Residency) -> u64 {
        (0..map.pages.count).filter(|page| map.was_absent(*page)).count() as u64
    }

    #[test]
    fn reading_leaves_the_cache_as_it_was() {
        use crate::format::ByteSource;
        // More than is looked at before the first read.
        let pages = 20_000;
        let Some(file) = cold(pages) else { return };
        let page = u64::try_from(rustix::param::page_size()).unwrap();
        let len = pages * page;
        // The second half is there, and a few pages of the first.
        fadvise(file.as_file(), 0, None, Advice::Random).unwrap();
        let mut byte = [0];
        let warm: Vec<u64> = (10_000..20_000).chain([3, 700, 701, 9999]).collect();
        // A system that is short of memory takes pages at any time: until what is there is what was read.
        let settled = (0..20).find_map(|_| {
            for at in &warm {
                rustix::io::pread(file.as_file(), &mut byte, at * page).unwrap();
            }
            let map = looked(file.as_file(), len).unwrap();
            (absent_pages(&map) == pages - warm.len() as u64).then_some(map)
        });
        let Some(before) = settled else { return };
        let mut window = crate::input::FileWindow::open(&file.path().to_owned().into(), len).unwrap();
        let mut position = 0;
        while position < len {
            assert!(!window.window(position, 4000).unwrap().is_empty());
            position += 4000;
        }
        drop(window);
        let after = looked(file.as_file(), len).unwrap();
        assert_eq!(after.absent, before.absent);
    }
}
