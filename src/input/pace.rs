//! Keeps reading below a rate, so that a broker on the same disks is not starved.
//!
//! The clock is read here to wait, never to say anything: a report does not depend on it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much is read at once where there is a limit, so that the disks are never busy for long.
pub(super) const PIECE: usize = 128 << 10;
/// Time that was not used is lost after this long: no burst follows a pause.
const SLACK: Duration = Duration::from_millis(50);

/// A limit on bytes a second, over all threads.
#[derive(Debug)]
pub struct Pace {
    bytes_per_second: u64,
    /// When all that was asked for is paid for.
    paid_at: Mutex<Option<Instant>>,
}

impl Pace {
    /// At most so many bytes a second.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), paid_at: Mutex::new(None) }
    }

    /// Waits until `bytes` may be read.
    pub(super) fn wait_for(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        let cost = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let now = Instant::now();
        let begin = {
            let mut paid_at = self.paid_at.lock().unwrap_or_else(PoisonError::into_inner);
            let oldest = now.checked_sub(SLACK).unwrap_or(now);
            let begin = paid_at.map_or(now, |paid_at| paid_at.max(oldest));
            *paid_at = Some(begin + cost);
            begin
        };
        std::thread::sleep(begin.saturating_duration_since(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_takes_the_time_that_the_rate_asks_for() {
        let pace = Pace::new(10 << 20);
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..8).for_each(|_| pace.wait_for(PIECE)));
            }
        });
        // 32 pieces are 4 MiB: 0.4 s, of which the last piece is not waited for. No upper bound: the
        // machine may be busy.
        assert!(begin.elapsed() >= Duration::from_millis(380), "{:?}", begin.elapsed());
    }
}
