//! How much memory a run may take, and how the stages share it.
//!
//! The bound is on anonymous memory of the whole process. What is not asked for here (headers of the
//! pieces under way, producers, the report) gets what the shares leave.

use crate::candidates::RowLimits;
use crate::format::Limits;
use crate::spill::{Share, TempSpace};
use std::path::PathBuf;

/// Nobody wants an audit to take more without being asked.
const MOST: u64 = 2 << 30;
/// Where the system does not tell how much memory it has.
const UNTOLD: u64 = 512 << 20;
/// A thread holds a piece of a log, what it became, and a few that wait for their turn.
const OF_A_THREAD: u64 = 32 << 20;

/// About what a record takes that may be a copy, while it is handed on.
const OF_A_COPY: usize = 512;

/// About what a surplus copy with its original takes in a report, or a session with its beginning and its end.
const OF_AN_ENTRY: u64 = 2 << 10;

/// How much memory may be used, and where the rest goes.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Bytes of anonymous memory of the process.
    pub limit: u64,
    /// Bytes beside these for archives that are unpacked while they are read.
    pub archives: u64,
    /// Takes temporary files.
    pub temp_dir: PathBuf,
}

impl Default for Memory {
    /// A quarter of the machine's memory, or of what a container was given, at most 2 GiB.
    fn default() -> Self {
        let limit = machine().map_or(UNTOLD, |memory| memory / 4).clamp(Self::LEAST, MOST);
        Self { limit, archives: 0, temp_dir: TempSpace::default_directory() }
    }
}

impl Memory {
    /// Less than this is not enough for one thread and the smallest log.
    pub const LEAST: u64 = 32 << 20;

    /// The same with a part of it for archives.
    #[must_use]
    pub fn with_archives(self) -> Self {
        let archives = self.limit / 4;
        Self { limit: self.limit - archives, archives, ..self }
    }

    /// Surplus copies and sessions that a report within this memory may hold.
    #[must_use]
    pub const fn most_entries(&self) -> u64 {
        self.limit / 4 * 3 / OF_AN_ENTRY
    }

    /// What whoever writes the report may hold of it beside it.
    #[must_use]
    pub fn share_of_lists(&self, limits: Limits) -> Share {
        Share { limit: self.shares(limits).relations, space: TempSpace::new(self.temp_dir.clone()) }
    }

    /// As many threads as half of the memory can feed.
    pub(super) fn most_threads(&self) -> usize {
        usize::try_from(self.limit / 2 / OF_A_THREAD).unwrap_or(usize::MAX).max(1)
    }

    /// The largest batch that an audit within this memory may unpack: a quarter is kept for it.
    #[must_use]
    pub fn largest_batch(&self) -> usize {
        usize::try_from(self.limit / 4).unwrap_or(usize::MAX)
    }

    pub(super) fn shares(&self, limits: Limits) -> Shares {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        // While rows are collected there is nothing else but the pieces under way, and one large batch; while shards are
        // sorted, the wanted places come together, and the records whose contents have yet to be looked at; then only
        // those and the candidates are there; then the candidates and what they become; then that alone.
        Shares {
            rows: RowLimits {
                collected: (limit / 2).saturating_sub(limits.batch_bytes).max(limit / 4),
                sorted: limit / 4,
            },
            wanted: limit / 8,
            untold: RowLimits { collected: limit / 32, sorted: limit / 4 },
            candidates: limit / 4,
            relations: limit / 16,
            // Each takes a file when it is full.
            producers: (limit / 32).max(4 << 10),
            // What is found there is handed on before more is looked for. A piece of a log that holds more
            // of them is read again from its beginning.
            places: (limit / 16 / OF_A_COPY).clamp(256, 1 << 16),
        }
    }
}

/// Bytes for each of the stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub(super) rows: RowLimits,
    pub(super) wanted: usize,
    /// Records whose contents are looked at later, and as much for their places.
    pub(super) untold: RowLimits,
    pub(super) candidates: usize,
    /// Of each of the few sorters and shelves that are there together.
    pub(super) relations: usize,
    /// Of each of the few tables and sorters of producers that are there together.
    pub(super) producers: usize,
    /// Records that are read again before they are handed on.
    pub(super) places: usize,
}

/// Bytes of memory that the machine has, or the container of the process where that is less.
#[cfg(target_os = "linux")]
fn machine() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total: u64 = total.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(u64::MAX);
    Some(total.saturating_mul(1024).min(container))
}

#[cfg(not(target_os = "linux"))]
fn machine() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_part_of_what_there_is() {
        let Memory { limit, .. } = Memory::default();
        assert!((Memory::LEAST..=MOST).contains(&limit));
        #[cfg(target_os = "linux")]
        assert!(machine().unwrap() >= limit);
    }

    #[test]
    fn what_is_held_together_fits_into_the_limit() {
        let memory = Memory { limit: 256 << 20, archives: 0, temp_dir: PathBuf::new() };
        let Shares { rows, wanted, untold, candidates, relations, producers, places } =
            memory.shares(Limits { batch_bytes: 64 << 20, ..Limits::default() });
        assert!(rows.sorted + wanted + 2 * untold.collected <= 128 << 20);
        assert!(untold.sorted + untold.collected + wanted <= 128 << 20);
        assert!(rows.collected + memory.largest_batch() + 3 * producers <= 160 << 20);
        assert!(wanted + candidates <= 128 << 20);
        assert!(candidates + 4 * relations <= 128 << 20);
        assert!(places * OF_A_COPY <= relations);
        assert_eq!(memory.most_threads(), 4);
    }
}
