//! How far the folding has come, for workers that may not run too far ahead of it.

use std::sync::{Condvar, Mutex, PoisonError};

/// A count that only grows, and those who wait for it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    folded: Mutex<u64>,
    moved: Condvar,
}

impl Progress {
    /// Waits until fewer than `window` chunks lie between the last one folded and `number`.
    pub(super) fn wait_for(&self, number: u64, window: u64) {
        let mut folded = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        while number >= folded.saturating_add(window) {
            folded = self.moved.wait(folded).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that so many chunks are folded. Workers come here in any order: one that folded less may
    /// come after one that folded more, and must not turn the count back, or all wait for ever.
    pub(super) fn reached(&self, count: u64) {
        let mut folded = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        *folded = count.max(*folded);
        drop(folded);
        self.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_that_come_late_turn_nothing_back() {
        let progress = Progress::default();
        progress.reached(6);
        progress.reached(5);
        // Returns at once, or never.
        progress.wait_for(9, 4);
        assert_eq!(*progress.folded.lock().unwrap_or_else(PoisonError::into_inner), 6);
    }
}
