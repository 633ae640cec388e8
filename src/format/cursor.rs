//! Reads fields from a slice; every read names its field, so that a short read explains itself.

use std::fmt;

/// Why bytes are not what they claim to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// A field needs more bytes than are left.
    Truncated {
        /// The field, as Kafka spells it.
        field: &'static str,
        /// Where it begins in the slice that was read.
        at: usize,
        /// How many bytes it needs.
        need: usize,
        /// How many are left.
        have: usize,
    },
    /// A field holds a value that Kafka never writes.
    Invalid {
        /// The field, as Kafka spells it.
        field: &'static str,
        /// Where it begins in the slice that was read.
        at: usize,
        /// What is wrong, with the numbers.
        reason: String,
    },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { field, at, need, have } => {
                write!(f, "{field} at {at} needs {need} bytes, {have} are left")
            }
            Self::Invalid { field, at, reason } => write!(f, "{field} at {at}: {reason}"),
        }
    }
}

impl std::error::Error for FormatError {}

/// A position in a slice, and reads that move it forward.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Begins at the first byte.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read so far.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// What was not read yet.
    #[inline]
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// How many bytes were not read yet.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Takes the next `N` bytes.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] when fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FormatError> {
        let Some(chunk) = self.rest().first_chunk::<N>() else {
            return Err(self.truncated(field, N));
        };
        self.at = self.at.saturating_add(N);
        Ok(*chunk)
    }

    /// Takes the next `length` bytes.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] when fewer are left.
    #[inline]
    pub fn bytes(&mut self, field: &'static str, length: usize) -> Result<&'a [u8], FormatError> {
        let Some((taken, _)) = self.rest().split_at_checked(length) else {
            return Err(self.truncated(field, length));
        };
        self.at = self.at.saturating_add(length);
        Ok(taken)
    }

    /// Takes a big-endian `int8`.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] when nothing is left.
    pub fn int8(&mut self, field: &'static str) -> Result<i8, FormatError> {
        self.array::<1>(field).map(i8::from_be_bytes)
    }

    /// Takes a big-endian `int16`.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] when fewer than 2 bytes are left.
    pub fn int16(&mut self, field: &'static str) -> Result<i16, FormatError> {
        self.array::<2>(field).map(i16::from_be_bytes)
    }

    /// Takes a big-endian `int32`.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] when fewer than 4 bytes are left.
    pub fn int32(&mut self, field: &'static str) -> Result<i32, FormatError> {
        self.array::<4>(field).map(i32::from_be_bytes)
    }

    /// Takes a big-endian `uint32`.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] when fewer than 4 bytes are left.
    pub fn uint32(&mut self, field: &'static str) -> Result<u32, FormatError> {
        self.array::<4>(field).map(u32::from_be_bytes)
    }

    /// Takes a big-endian `int64`.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] when fewer than 8 bytes are left.
    pub fn int64(&mut self, field: &'static str) -> Result<i64, FormatError> {
        self.array::<8>(field).map(i64::from_be_bytes)
    }

    /// Goes on behind bytes that were looked at in [`Cursor::rest`].
    pub(super) const fn skip(&mut self, length: usize) {
        self.at = self.at.saturating_add(length);
    }

    /// An error about `field` at the present position.
    #[must_use]
    pub fn invalid(&self, field: &'static str, reason: impl Into<String>) -> FormatError {
        FormatError::Invalid { field, at: self.at, reason: reason.into() }
    }

    #[cold]
    fn truncated(&self, field: &'static str, need: usize) -> FormatError {
        FormatError::Truncated { field, at: self.at, need, have: self.left() }
    }
}
