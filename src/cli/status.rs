//! The exit statuses that commands share. An interrupted run has the one of [`super::interrupt`].

use super::interrupt::INTERRUPTED;
use crate::report::answer::Reading;
use std::process::ExitCode;

/// Something was found, or differs.
pub(super) const FOUND: u8 = 1;
/// The command could not run.
pub(super) const COULD_NOT_RUN: u8 = 2;
/// Nothing was found, but not everything could be read.
pub(super) const INCOMPLETE: u8 = 3;

/// Whether an answer has what its command warns of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Clean,
    Found,
}

impl Outcome {
    pub(super) const fn of_found(found: bool) -> Self {
        if found { Self::Found } else { Self::Clean }
    }
}

/// The status of a command that has told its answer.
pub(super) fn of(outcome: Outcome, reading: Reading) -> ExitCode {
    ExitCode::from(match (reading, outcome) {
        (Reading::Interrupted, _) => INTERRUPTED,
        (_, Outcome::Found) => FOUND,
        (Reading::Partial, Outcome::Clean) => INCOMPLETE,
        (Reading::Whole, Outcome::Clean) => 0,
    })
}
