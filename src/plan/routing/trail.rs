//! Follows the keyed records of one partition in offset order and finds where the partition count
//! grew.
//!
//! The change is where most records fit: those before it the older count, those from it on the newer
//! one. While records of the older count go on coming it moves along with them, so nothing but what
//! may be out of place is kept. Kept lists are capped; counts hold all.

use crate::keys::KeyHashes;
use crate::units::Offset;

/// A keyed record that does not stand where the newest count puts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Records since the last stray that the newest count explains and the older one does not.
    pub newer_before: u32,
    /// Whether the older count puts it here.
    pub fits_older: bool,
    /// The record.
    pub record: StrayRecord,
}

/// The record that strays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrayRecord {
    /// Its offset.
    pub offset: Offset,
    /// The client's time, or the append time where there is none.
    pub timestamp: i64,
    /// Its key.
    pub key: KeyHashes,
}

/// Why a record is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrayKind {
    /// No known count puts it here.
    Neither,
    /// The older count does, but it stands behind the change.
    BehindChange,
}

/// What became of the keyed records of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutedPartition {
    /// Records with a key that is not empty.
    pub keyed: u64,
    /// Those of the older count that stand before the change.
    pub older: u64,
    /// The last record of the older count before the change.
    pub change: Option<(Offset, i64)>,
    /// Records that may be out of place, in offset order.
    pub strays: Vec<(StrayKind, StrayRecord)>,
    /// How many are not kept.
    pub strays_omitted: u64,
}

/// The fold over one partition.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    out: RoutedPartition,
    /// Newer matches minus older ones since the change.
    since: u64,
    /// Records of the older count behind the change, as far as they are kept.
    behind: Vec<StrayRecord>,
    behind_count: u64,
}

/// Strays of one partition that are kept.
const KEPT: usize = 256;

impl Trail {
    /// Takes a stretch: its strays, the newer records behind the last of them, and how many keyed
    /// records it has in all.
    pub fn take(&mut self, strays: &[Stray], newer_behind: u32, keyed: u64) {
        self.out.keyed += keyed;
        for stray in strays {
            self.since += u64::from(stray.newer_before);
            if !stray.fits_older {
                self.keep(StrayKind::Neither, stray.record);
            } else if let Some(since) = self.since.checked_sub(1) {
                self.since = since;
                self.behind_count += 1;
                if self.behind.len() < KEPT {
                    self.behind.push(stray.record);
                }
            } else {
                self.out.older += 1 + self.behind_count;
                self.behind_count = 0;
                self.behind.clear();
                let time = self.out.change.map_or(i64::MIN, |(_, time)| time);
                self.out.change = Some((stray.record.offset, time.max(stray.record.timestamp)));
            }
        }
        self.since += u64::from(newer_behind);
    }

    /// Ends the partition.
    #[must_use]
    pub fn finish(mut self) -> RoutedPartition {
        let left = self.behind_count.saturating_sub(u64::try_from(self.behind.len()).unwrap_or(0));
        self.out.strays_omitted += left;
        for record in std::mem::take(&mut self.behind) {
            self.keep(StrayKind::BehindChange, record);
        }
        self.out.strays.sort_by_key(|(_, record)| record.offset);
        self.out
    }

    fn keep(&mut self, kind: StrayKind, record: StrayRecord) {
        if self.out.strays.len() < KEPT {
            self.out.strays.push((kind, record));
        } else {
            self.out.strays_omitted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter a record: `o`lder, `n`ewer, `x` neither; each letter also is its time in seconds.
    fn follow(records: &str, stretch: usize) -> RoutedPartition {
        let mut trail = Trail::default();
        let letters: Vec<(i64, char)> = (0..).zip(records.chars()).collect();
        for part in letters.chunks(stretch) {
            let (mut strays, mut newer) = (Vec::new(), 0);
            for &(offset, letter) in part {
                let record = StrayRecord {
                    offset: Offset(offset),
                    timestamp: offset * 1000,
                    key: KeyHashes::of(&offset.to_be_bytes()),
                };
                match letter {
                    'n' => newer += 1,
                    'o' | 'x' => strays.push(Stray {
                        newer_before: std::mem::take(&mut newer),
                        fits_older: letter == 'o',
                        record,
                    }),
                    _ => {}
                }
            }
            trail.take(&strays, newer, u64::try_from(part.len()).unwrap());
        }
        trail.finish()
    }

    fn strays(partition: &RoutedPartition) -> Vec<(StrayKind, i64)> {
        partition.strays.iter().map(|(kind, record)| (*kind, record.offset.0)).collect()
    }

    #[test]
    fn the_change_stands_between_the_counts_and_what_fits_neither_is_kept() {
        for stretch in [1, 3, 100] {
            let found = follow("oobooxoonnnxnnb", stretch);
            assert_eq!(found.change.map(|(offset, _)| offset), Some(Offset(7)));
            assert_eq!((found.keyed, found.older), (15, 6));
            assert_eq!(strays(&found), [(StrayKind::Neither, 5), (StrayKind::Neither, 11)]);
        }
    }

    #[test]
    fn a_record_of_the_older_count_far_behind_the_change_is_kept() {
        let found = follow("ooonnnnon", 2);
        assert_eq!(found.change, Some((Offset(2), 2000)));
        assert_eq!(strays(&found), [(StrayKind::BehindChange, 7)]);
        // A lone newer match in the old stretch, by chance or by mistake, moves nothing.
        assert!(follow("oonoooonn", 9).strays.is_empty());
    }

    #[test]
    fn lists_are_capped_and_counts_are_not() {
        let found = follow(&"x".repeat(2_500), 1_000);
        assert_eq!((found.strays.len(), found.strays_omitted), (256, 2_244));
        let found = follow(&("n".repeat(3_000) + &"o".repeat(2_500)), 1_000);
        assert_eq!((found.strays.len(), found.strays_omitted), (256, 2_244));
    }
}
