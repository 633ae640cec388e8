//! The exit statuses that commands share. An interrupted run has the one of [`super::interrupt`].

/// Something was found, or differs.
pub(super) const FOUND: u8 = 1;
/// The command could not run.
pub(super) const COULD_NOT_RUN: u8 = 2;
/// Nothing was found, but not everything could be read.
pub(super) const INCOMPLETE: u8 = 3;
