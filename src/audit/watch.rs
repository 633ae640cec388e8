//! How far an audit has come, for whoever waits for it, and the wish that it end early.
//!
//! Shared with another thread: the audit writes where it is and reads whether it is to stop; nothing
//! that is reported depends on when somebody looked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// A window into a running audit.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    stage: AtomicU8,
    done: AtomicU64,
    all: AtomicU64,
    /// One more than the bytes after which the audit stops by itself; 0 for never.
    #[cfg(any(test, feature = "testkit"))]
    limit: AtomicU64,
    /// One more than the stage in which it does; 0 for none.
    #[cfg(any(test, feature = "testkit"))]
    last_stage: AtomicU8,
}

/// What an audit is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Files are found, and samples are taken.
    Preparing,
    /// A list of expected keys is read.
    Listing,
    /// Everything is read once.
    Reading,
    /// Digests are grouped, and records that may be copies are read again.
    Comparing,
    /// What was found is judged.
    Judging,
}

impl Stage {
    /// Its name on a line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preparing => "finding files",
            Self::Listing => "reading the list",
            Self::Reading => "reading",
            Self::Comparing => "comparing",
            Self::Judging => "judging",
        }
    }
}

impl Stage {
    const fn number(self) -> u8 {
        match self {
            Self::Preparing => 0,
            Self::Listing => 1,
            Self::Reading => 2,
            Self::Comparing => 3,
            Self::Judging => 4,
        }
    }
}

/// The wish that an audit end early which came when everything was read.
#[derive(Clone, Debug, Default)]
pub(super) struct LateStop(Option<Watch>);

impl LateStop {
    /// Whether the comparing is to end.
    pub(super) fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(Watch::is_stopped)
    }
}

impl Watch {
    /// What ends the reading when it is set, from a signal handler too: what was read until then is
    /// judged and marked as interrupted.
    #[must_use]
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether the reading is to end.
    pub(super) fn is_stopped(&self) -> bool {
        #[cfg(any(test, feature = "testkit"))]
        if let Some(limit) = self.state.limit.load(Ordering::Relaxed).checked_sub(1)
            && self.state.done.load(Ordering::Relaxed) >= limit
        {
            return true;
        }
        #[cfg(any(test, feature = "testkit"))]
        if let Some(last) = self.state.last_stage.load(Ordering::Relaxed).checked_sub(1)
            && self.state.stage.load(Ordering::Relaxed) >= last
        {
            return true;
        }
        self.stop.load(Ordering::Relaxed)
    }

    /// Stops the audit when it has read so much, at the same place in every run.
    #[cfg(any(test, feature = "testkit"))]
    pub fn stop_after(&self, bytes: u64) {
        self.state.limit.store(bytes.saturating_add(1), Ordering::Relaxed);
    }

    /// Stops the audit as soon as it comes to a stage.
    #[cfg(any(test, feature = "testkit"))]
    pub fn stop_in(&self, stage: Stage) {
        self.state.last_stage.store(stage.number().saturating_add(1), Ordering::Relaxed);
    }

    /// Behind the reading: a wish that came before has ended that, and what was read is still compared.
    pub(super) fn after_reading(&self) -> LateStop {
        LateStop(Some(self.clone()).filter(|watch| !watch.is_stopped()))
    }

    /// What the audit is at.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self.state.stage.load(Ordering::Relaxed) {
            0 => Stage::Preparing,
            1 => Stage::Listing,
            2 => Stage::Reading,
            3 => Stage::Comparing,
            _ => Stage::Judging,
        }
    }

    /// Bytes that were read, and bytes that are to be read.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        (self.state.done.load(Ordering::Relaxed), self.state.all.load(Ordering::Relaxed))
    }

    pub(super) fn enter(&self, stage: Stage) {
        self.state.stage.store(stage.number(), Ordering::Relaxed);
    }

    pub(super) fn expect(&self, bytes: u64) {
        self.state.all.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn read(&self, bytes: u64) {
        self.state.done.fetch_add(bytes, Ordering::Relaxed);
    }
}
