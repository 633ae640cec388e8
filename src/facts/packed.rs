//! Numbers of variable length, seven bits in a byte, for what is kept by the million.

/// Appends an unsigned number.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
}

/// Appends the way from one number to another, which may be negative.
pub(super) fn put_step(bytes: &mut Vec<u8>, from: i64, to: i64) {
    let step = to.wrapping_sub(from);
    put(bytes, ((step << 1) ^ (step >> 63)).cast_unsigned());
}

/// Reads them back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unpack<'b> {
    rest: &'b [u8],
}

impl<'b> Unpack<'b> {
    pub(super) const fn new(rest: &'b [u8]) -> Self {
        Self { rest }
    }

    /// The next unsigned number; `None` at the end.
    pub(super) fn take(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0_u64, 0_u32);
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    /// The number that lies the next step behind `from`.
    pub(super) fn take_step(&mut self, from: i64) -> Option<i64> {
        let raw = self.take()?;
        let step = (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed();
        Some(from.wrapping_add(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_and_steps_are_read_back(numbers: Vec<u64>, steps: Vec<(i64, i64)>) {
            let mut bytes = Vec::new();
            for &number in &numbers {
                put(&mut bytes, number);
            }
            for &(from, to) in &steps {
                put_step(&mut bytes, from, to);
            }
            let mut packed = Unpack::new(&bytes);
            for &number in &numbers {
                prop_assert_eq!(packed.take(), Some(number));
            }
            for &(from, to) in &steps {
                prop_assert_eq!(packed.take_step(from), Some(to));
            }
            prop_assert_eq!(packed.take(), None);
        }
    }
}
