//! The record keys of a log.

use super::log::{Log, Walk};
use super::marks::{self, MarkKind};
use crate::format::Decompressor;
use crate::input::ReadMode;
use crate::units::Offset;

/// Calls `each` with the place and the hash of the key of each record that has a key, in the order of offsets, up to
/// where `stop` asks to end. Records that cannot be read are passed over.
///
/// # Errors
/// What `each` says; nothing is read behind that.
pub fn each_key<E>(
    log: &Log<'_>,
    mode: ReadMode,
    stop: &dyn Fn() -> bool,
    mut each: impl FnMut(Offset, u64) -> Result<(), E>,
) -> Result<(), E> {
    let Some(first) = log.first_offset() else { return Ok(()) };
    let mut decompressor = Decompressor::with_limits(log.limits);
    let mut walk = Walk::new(log, first, mode);
    while let Some(held) = walk.held.as_ref().filter(|_| !stop()) {
        if !held.header.is_control() {
            for mark in marks::of(held, held.low, &mut decompressor).unwrap_or_default() {
                match mark.kind {
                    MarkKind::Value(hash) | MarkKind::Tombstone(hash) => each(mark.offset, hash)?,
                    MarkKind::WithoutKey | MarkKind::Control => {}
                }
            }
        }
        walk.advance();
    }
    Ok(())
}
