//! The frame of a schema registry around a value.
//!
//! ```text
//!  at  field  type
//!   0  magic  INT8     0
//!   1  id     UINT32   of the schema, big-endian
//!   5  …               for Protobuf the message's index path, then the value
//! ```

/// The id and what stands behind it; `None` without the magic byte.
pub(crate) fn split(value: &[u8]) -> Option<(u32, &[u8])> {
    let (frame, rest) = value.split_first_chunk::<5>()?;
    let [0, a, b, c, d] = *frame else { return None };
    Some((u32::from_be_bytes([a, b, c, d]), rest))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_frame_is_a_zero_and_an_id() {
        assert_eq!(split(&[0, 0, 0, 1, 2, 9]), Some((258, &[9][..])));
        assert_eq!(split(&[0, 0, 0, 1]), None);
        assert_eq!(split(&[1, 0, 0, 1, 2, 9]), None);
    }
}
