//! What does not fit into memory: sorted runs in temporary files.
//!
//! Goes in: elements in any order. Comes out: the same elements in their order, whatever the bound on
//! memory. The files have no names, can be read by their owner alone and are gone when the process
//! ends, however it ends. Before something is written, the space is asked for, so that a full disk is
//! an error with numbers and not half an audit.
//!
//! Elements are written in a form of this program's run alone; nothing of it is ever read by another.

mod run;
mod sorter;
mod space;

pub use run::{RunReader, RunWriter};
pub use sorter::{Sorted, Sorter};
pub use space::TempSpace;

use std::io;

/// Something that can be written to a run and read back.
pub trait Element: Ord + Sized + Send {
    /// Bytes of memory that it holds.
    fn memory(&self) -> usize {
        size_of::<Self>()
    }

    /// Appends its bytes.
    fn put(&self, out: &mut Vec<u8>);

    /// Takes from the front of what [`Element::put`] wrote.
    ///
    /// # Errors
    /// What the system says, or that the bytes are not what was written.
    fn take(from: &mut RunReader) -> io::Result<Self>;
}
