//! Where bytes come from, without saying how: a slice here, files in `input`.

use std::io;

/// Bytes with a known length that are read by position.
///
/// The length is fixed when the source is made: a file that grows meanwhile is read up to what it
/// held then.
pub trait ByteSource {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes from `position` on: at least `length` of them, or all that are left when fewer
    /// are. More may come when they are at hand.
    ///
    /// # Errors
    /// The error of the underlying read; a source that became shorter answers with
    /// [`io::ErrorKind::UnexpectedEof`].
    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]>;
}

impl ByteSource for &[u8] {
    fn len(&self) -> u64 {
        u64::try_from((**self).len()).unwrap_or(u64::MAX)
    }

    fn window(&mut self, position: u64, _length: usize) -> io::Result<&[u8]> {
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        Ok(self.get(start..).unwrap_or_default())
    }
}
