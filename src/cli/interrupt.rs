//! Ctrl-C, and the request of a system to end: the first ends the reading, and what was found until
//! then is told and marked; the second ends the program.

use crate::audit::Watch;
use crate::error::AuditError;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The status of a program that was interrupted, as shells have it.
pub(super) const INTERRUPTED: u8 = 130;

/// From here on the signals end the reading of `watch`.
///
/// # Errors
/// [`AuditError::Usage`] where the system does not allow it.
pub(super) fn listen(watch: &Watch) -> Result<(), AuditError> {
    let stop = watch.stop_flag();
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and sets it, the second finds it set.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), stop.clone())
            .and_then(|_| flag::register(signal, stop.clone()))
            .map_err(|error| AuditError::Usage(format!("cannot listen for signal {signal}: {error}")))?;
    }
    Ok(())
}
