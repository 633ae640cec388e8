//! `leader-epoch-checkpoint`: at which offset each leader began.
//!
//! ```text
//! 0
//! 2
//! 0 0          epoch startOffset
//! 4 16
//! ```
//!
//! Both columns rise strictly. An epoch may have no batch at all, the first line follows the log
//! start, and the file can lag behind a truncation. A log that began before 0.11 starts with the
//! first epoch that wrote record batches, so the first line need not be where the log begins.
//!
//! Source: `LeaderEpochCheckpointFile`, `LeaderEpochFileCache`; KIP-101, KIP-279.

use super::checkpoint::{LineError, fields, for_each_entry};
use crate::units::{LeaderEpoch, Offset};

/// Reads the whole file.
///
/// # Errors
/// The first line that is not what it should be, a step back among them.
pub fn parse(bytes: &[u8]) -> Result<Vec<(LeaderEpoch, Offset)>, LineError> {
    let mut epochs: Vec<(LeaderEpoch, Offset)> = Vec::new();
    for_each_entry(bytes, |line, text| {
        let [epoch, start_offset] = fields(line, text, "epoch and start offset")?;
        let number = |what| LineError::new(line, text, format!("{what} is no number"));
        let epoch = LeaderEpoch(epoch.parse().map_err(|_| number("the epoch"))?);
        let start_offset = Offset(start_offset.parse().map_err(|_| number("the start offset"))?);
        if let Some(&(last_epoch, last_start)) = epochs.last()
            && (epoch <= last_epoch || start_offset <= last_start)
        {
            let reason = format!("epoch {last_epoch} at {last_start} stands before it, both must rise");
            return Err(LineError::new(line, text, reason));
        }
        epochs.push((epoch, start_offset));
        Ok(())
    })?;
    Ok(epochs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_may_skip_numbers() {
        let epochs = parse(b"0\n2\n0 0\n4 16\n").unwrap();
        assert_eq!(epochs, [(LeaderEpoch(0), Offset(0)), (LeaderEpoch(4), Offset(16))]);
    }

    #[test]
    fn an_epoch_or_an_offset_that_does_not_rise_is_an_error() {
        for bytes in [&b"0\n2\n4 0\n0 16\n"[..], b"0\n2\n0 16\n4 16\n", b"0\n2\n0 16\n0 17\n"] {
            assert_eq!(parse(bytes).unwrap_err().line, 4);
        }
    }

    #[test]
    fn a_line_with_three_fields_is_none_of_this_file() {
        assert_eq!(parse(b"0\n1\norders 0 16\n").unwrap_err().line, 3);
    }
}
