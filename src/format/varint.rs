//! Variable-length integers: groups of seven bits, least significant first, high bit = more.
//!
//! `varint` and `varlong` are zig-zag coded and signed, at most 5 and 10 bytes; the unsigned form
//! stands only in flexible messages of internal topics.
//!
//! Source: `ByteUtils` in Kafka's `clients` module.

use super::cursor::{Cursor, FormatError};

impl Cursor<'_> {
    /// Takes a zig-zag coded 32-bit integer.
    ///
    /// # Errors
    /// [`FormatError`] when it is cut or longer than 5 bytes.
    #[inline]
    pub fn varint(&mut self, field: &'static str) -> Result<i32, FormatError> {
        let raw = self.unsigned_varint(field)?;
        Ok(((raw >> 1) ^ (raw & 1).wrapping_neg()).cast_signed())
    }

    /// Takes a zig-zag coded 64-bit integer.
    ///
    /// # Errors
    /// [`FormatError`] when it is cut or longer than 10 bytes.
    #[inline]
    pub fn varlong(&mut self, field: &'static str) -> Result<i64, FormatError> {
        let raw = match self.short() {
            Some(raw) => u64::from(raw),
            None => self.unsigned_long(field)?,
        };
        Ok(((raw >> 1) ^ (raw & 1).wrapping_neg()).cast_signed())
    }

    /// Takes an unsigned 32-bit integer.
    ///
    /// # Errors
    /// [`FormatError`] when it is cut or longer than 5 bytes.
    #[inline]
    pub fn unsigned_varint(&mut self, field: &'static str) -> Result<u32, FormatError> {
        match self.short() {
            Some(raw) => Ok(u32::from(raw)),
            None => self.unsigned_int(field),
        }
    }

    /// One of up to two bytes, as nearly all are.
    #[inline]
    fn short(&mut self) -> Option<u16> {
        match *self.rest() {
            [byte, ..] if byte < 0x80 => {
                self.skip(1);
                Some(u16::from(byte))
            }
            [first, second, ..] if second < 0x80 => {
                self.skip(2);
                Some(u16::from(first & 0x7f) | u16::from(second) << 7)
            }
            _ => None,
        }
    }

    fn unsigned_long(&mut self, field: &'static str) -> Result<u64, FormatError> {
        let (mut raw, mut shift) = (0u64, 0u32);
        loop {
            let [byte] = self.array::<1>(field)?;
            raw |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(raw);
            }
            shift = shift.saturating_add(7);
            if shift > 63 {
                return Err(self.invalid(field, "variable-length integer of more than 10 bytes"));
            }
        }
    }

    fn unsigned_int(&mut self, field: &'static str) -> Result<u32, FormatError> {
        let (mut raw, mut shift) = (0u32, 0u32);
        loop {
            let [byte] = self.array::<1>(field)?;
            raw |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(raw);
            }
            shift = shift.saturating_add(7);
            if shift > 28 {
                return Err(self.invalid(field, "variable-length integer of more than 5 bytes"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_take_one_byte() {
        assert_eq!(Cursor::new(&[0x00]).varint("n"), Ok(0));
        assert_eq!(Cursor::new(&[0x01]).varint("n"), Ok(-1));
        assert_eq!(Cursor::new(&[0x02]).varlong("n"), Ok(1));
        assert_eq!(Cursor::new(&[0x01]).varlong("n"), Ok(-1));
    }

    #[test]
    fn two_bytes_are_read_as_more_are() {
        for raw in 0..=u16::MAX >> 2 {
            let bytes = [u8::try_from(raw & 0x7f).unwrap() | 0x80, u8::try_from(raw >> 7).unwrap()];
            let (mut short, mut long) = (Cursor::new(&bytes), Cursor::new(&bytes));
            assert_eq!(short.unsigned_varint("n"), long.unsigned_int("n"));
            assert_eq!(short.at(), long.at());
            assert_eq!(
                Cursor::new(&bytes).short().map(u64::from),
                Cursor::new(&bytes).unsigned_long("n").ok()
            );
        }
    }

    #[test]
    fn the_extremes_are_read() {
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).varint("n"), Ok(i32::MIN));
        assert_eq!(Cursor::new(&[0xfe, 0xff, 0xff, 0xff, 0x0f]).varint("n"), Ok(i32::MAX));
        let mut longest = [0xff; 10];
        longest[9] = 0x01;
        assert_eq!(Cursor::new(&longest).varlong("n"), Ok(i64::MIN));
    }

    #[test]
    fn what_is_too_long_or_cut_is_refused() {
        assert!(Cursor::new(&[0x80; 6]).varint("n").is_err());
        assert!(Cursor::new(&[0x80; 11]).varlong("n").is_err());
        assert!(Cursor::new(&[0x80]).varint("n").is_err());
        assert!(Cursor::new(&[]).varlong("n").is_err());
    }
}
