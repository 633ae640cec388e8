//! What does not fit into memory: sorted runs, and rows as they came, in temporary files.
//!
//! Goes in: elements in any order. Comes out: the same elements in their order ([`Sorter`]), in the one in which they
//! came, as often as they are asked for ([`Shelf`]), one of them by its key ([`Catalog`]), or values by key that are
//! changed on the way ([`Table`]), whatever the bound on memory. The files have no names, can be read by their owner
//! alone and are gone when the process ends, however it ends. Before something is written, the space is asked for, so
//! that a full disk is an error with numbers and not half an audit.
//!
//! Elements are written in a form of this program's run alone; nothing of it is ever read by another.

mod catalog;
mod run;
mod shelf;
mod sorter;
mod space;
mod table;

pub use catalog::{Catalog, CatalogWriter};
pub use run::{RunReader, RunWriter};
pub use shelf::{Reading, Shelf, ShelfWriter};
pub use sorter::{Sorted, Sorter};
pub use space::TempSpace;
pub use table::Table;

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

impl Element for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        Ok(Self::from_le_bytes(from.array()?))
    }
}

impl<A: Element, B: Element> Element for (A, B) {
    fn memory(&self) -> usize {
        self.0.memory() + self.1.memory()
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

/// How many there are, then each.
impl<T: Element> Element for Vec<T> {
    fn memory(&self) -> usize {
        let held = (self.capacity() - self.len()) * size_of::<T>();
        size_of::<Self>() + held + self.iter().map(Element::memory).sum::<usize>()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u64::try_from(self.len()).unwrap_or(u64::MAX).to_le_bytes());
        for element in self {
            element.put(out);
        }
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let length = u64::from_le_bytes(from.array()?);
        // Most are short, and many of them are kept: no room to spare for each.
        let mut all = Self::with_capacity(usize::try_from(length).unwrap_or(usize::MAX).min(AT_ONCE));
        for _ in 0..length {
            all.push(T::take(from)?);
        }
        Ok(all)
    }
}

/// Elements of a list for which room is made before they are read.
const AT_ONCE: usize = 64;

/// Numbers that may be missing: which of them are there, then those.
impl<const N: usize> Element for [Option<i64>; N] {
    fn put(&self, out: &mut Vec<u8>) {
        const { assert!(N <= 32, "each has its bit") }
        let there = self.iter().rev().fold(0_u32, |bits, number| bits << 1 | u32::from(number.is_some()));
        out.extend_from_slice(&there.to_le_bytes());
        self.iter().flatten().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let mut there = u32::from_le_bytes(from.array()?);
        let mut numbers = [None; N];
        for number in &mut numbers {
            if there & 1 == 1 {
                *number = Some(i64::from_le_bytes(from.array()?));
            }
            there >>= 1;
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
