//! Which segments count after a compaction or split that was interrupted.
//!
//! A broker writes `.cleaned` files, renames them to `.swap` in descending order, renames what they
//! replace to `.deleted`, and strips `.swap`. When it starts again it finishes or undoes that. The
//! same is done here in thought, for reading old and new would show every surviving record twice:
//!
//! 1. `.deleted` files do not count;
//! 2. with `.cleaned` files the split was not finished: `.swap` files from the smallest `.cleaned`
//!    number on do not count (KAFKA-6264), nor do the `.cleaned` files;
//! 3. the other `.swap` segments count, and regular segments and snapshots from the smallest base up
//!    to below the largest next offset do not.
//!
//! Source: `LogLoader.load`, `LocalLog.replaceSegments`.

use super::inventory::{SegmentFile, SideFile};
use super::names::Fate;
use crate::units::Offset;

/// A file with what becomes of it.
#[derive(Clone, Debug)]
pub(super) struct Fated<T> {
    pub file: T,
    pub fate: Fate,
}

/// How the files of a partition part.
#[derive(Debug, Default)]
pub(super) struct Parted {
    /// What a broker would serve after a start, ascending.
    pub live: Vec<SegmentFile>,
    pub live_snapshots: Vec<SideFile>,
    pub deleted: Vec<SegmentFile>,
    pub deleted_snapshots: Vec<SideFile>,
    pub cleaned: Vec<SegmentFile>,
    /// `.swap` segments that do not count, and why.
    pub dropped_swaps: Vec<(SegmentFile, String)>,
    pub replaced: Vec<SegmentFile>,
    pub replaced_snapshots: Vec<SideFile>,
    /// The names of the `.swap` segments that count.
    pub swapped_in: Vec<String>,
    /// The smallest base of these, and the offset behind them.
    pub swap_range: Option<(Offset, Offset)>,
}

/// What the scan of a `.swap` segment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SwapRange {
    /// It can be read to its end; the offset behind its last batch.
    Whole(Offset),
    /// It cannot, and why.
    Broken(String),
}

/// Parts segments and snapshots; `smallest_cleaned` is the smallest number of any `.cleaned` file,
/// `range` reads a `.swap` segment.
pub(super) fn part(
    segments: Vec<Fated<SegmentFile>>,
    snapshots: Vec<Fated<SideFile>>,
    smallest_cleaned: Option<Offset>,
    mut range: impl FnMut(&SegmentFile) -> SwapRange,
) -> Parted {
    let mut parted = Parted::default();
    let mut regular = Vec::new();
    let mut swaps = Vec::new();
    for Fated { file, fate } in segments {
        match fate {
            Fate::Regular => regular.push(file),
            Fate::Deleted => parted.deleted.push(file),
            Fate::Cleaned => parted.cleaned.push(file),
            Fate::Swap => swaps.push(file),
        }
    }
    let mut counted = Vec::new();
    let smallest_swap = swaps.iter().map(|swap| swap.base).min();
    for swap in swaps {
        let original =
            |segment: &SegmentFile| Some(segment.base) >= smallest_swap && segment.base <= swap.base;
        if smallest_cleaned.is_some_and(|smallest| swap.base >= smallest) {
            parted.dropped_swaps.push((swap, "the split that wrote it was not finished".to_owned()));
            continue;
        }
        match range(&swap) {
            SwapRange::Whole(next) => counted.push((swap, next)),
            // Where the originals are gone, a damaged file is better than none.
            SwapRange::Broken(_) if !regular.iter().any(original) => {
                let base = swap.base;
                counted.push((swap, base));
            }
            SwapRange::Broken(why) => parted.dropped_swaps.push((swap, why)),
        }
    }
    let from = counted.iter().map(|(swap, _)| swap.base).min();
    let to = counted.iter().map(|(_, next)| *next).max();
    parted.swap_range = from.zip(to);
    parted.swapped_in = counted.iter().map(|(swap, _)| swap.file_name.clone()).collect();
    let covered =
        |number: Offset| from.is_some_and(|from| from <= number) && to.is_some_and(|to| number < to);
    // A swapped segment takes the name of the regular one with its base, even when it is empty.
    let replaced = |base: Offset| covered(base) || counted.iter().any(|(swap, _)| swap.base == base);
    (parted.replaced, parted.live) = regular.into_iter().partition(|segment| replaced(segment.base));
    parted.live.extend(counted.iter().map(|(swap, _)| swap.clone()));
    parted.live.sort_by_key(|segment| segment.base);
    for Fated { file, fate } in snapshots {
        match fate {
            Fate::Regular if covered(file.number) => parted.replaced_snapshots.push(file),
            Fate::Regular => parted.live_snapshots.push(file),
            Fate::Deleted | Fate::Cleaned | Fate::Swap => parted.deleted_snapshots.push(file),
        }
    }
    parted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::SegmentRole;
    use std::path::PathBuf;

    fn segment(base: i64, fate: Fate) -> Fated<SegmentFile> {
        let file = SegmentFile {
            base: Offset(base),
            place: PathBuf::new().into(),
            file_name: format!("{base:020}.log"),
            len: 1,
            modified: None,
            identity: None,
            role: SegmentRole::Closed,
        };
        Fated { file, fate }
    }

    fn snapshot(number: i64) -> Fated<SideFile> {
        let file = SideFile {
            number: Offset(number),
            place: PathBuf::new().into(),
            file_name: String::new(),
            len: 1,
            modified: None,
        };
        Fated { file, fate: Fate::Regular }
    }

    fn bases(segments: &[SegmentFile]) -> Vec<i64> {
        segments.iter().map(|segment| segment.base.0).collect()
    }

    #[test]
    fn a_swap_segment_replaces_what_it_covers_and_nothing_behind() {
        let segments = [0, 12, 24, 36].map(|base| segment(base, Fate::Regular)).into_iter();
        let segments = segments.chain([segment(0, Fate::Swap)]).collect();
        let snapshots = [12, 24, 36, 48].map(snapshot).into();
        let parted = part(segments, snapshots, None, |_| SwapRange::Whole(Offset(36)));
        assert_eq!(bases(&parted.live), [0, 36]);
        assert_eq!(bases(&parted.replaced), [0, 12, 24]);
        let numbers: Vec<_> = parted.live_snapshots.iter().map(|snapshot| snapshot.number.0).collect();
        assert_eq!(numbers, [36, 48]);
    }

    #[test]
    fn two_swap_segments_cover_all_that_is_between_them() {
        let segments = vec![
            segment(0, Fate::Regular),
            segment(10, Fate::Regular),
            segment(20, Fate::Regular),
            segment(0, Fate::Swap),
            segment(18, Fate::Swap),
        ];
        let parted = part(segments, vec![], None, |swap| SwapRange::Whole(swap.base.plus(2)));
        assert_eq!(bases(&parted.live), [0, 18, 20]);
        assert_eq!(bases(&parted.replaced), [0, 10]);
    }

    #[test]
    fn an_empty_swap_segment_takes_the_place_of_its_namesake() {
        let segments = vec![segment(0, Fate::Regular), segment(0, Fate::Swap), segment(12, Fate::Regular)];
        let parted = part(segments, vec![], None, |swap| SwapRange::Whole(swap.base));
        assert_eq!((bases(&parted.live), bases(&parted.replaced)), (vec![0, 12], vec![0]));
    }

    #[test]
    fn swaps_of_an_unfinished_split_do_not_count() {
        let segments = vec![
            segment(0, Fate::Regular),
            segment(0, Fate::Cleaned),
            segment(5, Fate::Swap),
            segment(9, Fate::Deleted),
        ];
        let parted = part(segments, vec![], Some(Offset(0)), |_| panic!("is not read"));
        assert_eq!(bases(&parted.live), [0]);
        assert_eq!(parted.dropped_swaps.len(), 1);
        assert_eq!((bases(&parted.cleaned), bases(&parted.deleted)), (vec![0], vec![9]));
    }

    #[test]
    fn a_swap_below_the_smallest_cleaned_file_counts() {
        let segments = vec![segment(0, Fate::Regular), segment(0, Fate::Swap)];
        let parted = part(segments, vec![], Some(Offset(5)), |_| SwapRange::Whole(Offset(5)));
        assert_eq!((bases(&parted.live), bases(&parted.replaced)), (vec![0], vec![0]));
    }

    #[test]
    fn a_damaged_swap_counts_only_where_nothing_else_is() {
        let broken = |_: &SegmentFile| SwapRange::Broken("bad".to_owned());
        let parted = part(vec![segment(0, Fate::Regular), segment(0, Fate::Swap)], vec![], None, broken);
        assert_eq!((parted.dropped_swaps.len(), parted.replaced.len()), (1, 0));
        let originals_gone = [(0, Fate::Regular), (12, Fate::Swap), (36, Fate::Regular)];
        let originals_gone = originals_gone.map(|(base, fate)| segment(base, fate)).into();
        let parted = part(originals_gone, vec![], None, broken);
        assert_eq!((parted.dropped_swaps.len(), bases(&parted.live)), (0, vec![0, 12, 36]));
    }
}
