//! What does not fit into memory: sorted runs, and rows as they came, in temporary files.
//!
//! Goes in: elements in any order. Comes out: the same elements in their order ([`Sorter`]), or in the one in which they
//! came, as often as they are asked for ([`Shelf`]), whatever the bound on memory. The files have no names, can be read by
//! their owner alone and are gone when the process ends, however it ends. Before something is written, the space is asked
//! for, so that a full disk is an error with numbers and not half an audit.
//!
//! Elements are written in a form of this program's run alone; nothing of it is ever read by another.

mod run;
mod shelf;
mod sorter;
mod space;

pub use run::{RunReader, RunWriter};
pub use shelf::{Reading, Shelf, ShelfWriter};
pub use sorter::{Sorted, Sorter};
pub use space::TempSpace;

use std::io;

/// Something that can be written to a run and read back.
pub trait Element: Sized + Send {
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

impl<const N: usize> Element for [i64; N] {
    fn put(&self, out: &mut Vec<u8>) {
        for number in self {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = i64::from_le_bytes(from.array()?);
        }
        Ok(numbers)
    }
}

/// A share of the memory, and where the rest goes.
#[derive(Clone, Debug)]
pub struct Share {
    /// Bytes that each sorter and each shelf may hold.
    pub limit: usize,
    /// Takes what does not fit.
    pub space: TempSpace,
}

impl Share {
    /// Puts elements into their order.
    #[must_use]
    pub fn sorter<T: Element + Ord>(&self) -> Sorter<T> {
        Sorter::new(self.limit, self.space.clone())
    }

    /// Keeps elements in the order in which they come.
    #[must_use]
    pub fn shelf<T: Element + Clone>(&self) -> ShelfWriter<T> {
        ShelfWriter::new(self.limit, self.space.clone())
    }
}

impl Default for Share {
    /// All of the memory that there is.
    fn default() -> Self {
        Self { limit: usize::MAX, space: TempSpace::new(TempSpace::default_directory()) }
    }
}
