//! The limits that every command with records takes.

use crate::format::Limits;
use clap::Args;

/// What a single batch may ask for; past it the batch is not read, and said to be damaged.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LimitArguments {
    /// Bytes that a batch may become when it is decompressed [default: 128MiB, or a quarter of the
    /// memory that may be used]
    #[arg(long = "max-batch-bytes", value_name = "SIZE", value_parser = batch_bytes, help_heading = "Limits")]
    batch_bytes: Option<usize>,
    /// Headers that a record may have
    #[arg(long = "max-headers", value_name = "N", default_value_t = Limits::default().headers, help_heading = "Limits")]
    headers: u32,
    /// Bytes that the name of a header may have
    #[arg(long = "max-header-name", value_name = "N", default_value_t = Limits::default().header_name, help_heading = "Limits")]
    header_name: usize,
}

impl LimitArguments {
    /// The limits, where nothing else bounds memory.
    pub(super) fn limits(self) -> Limits {
        let bytes = self.batch_bytes.unwrap_or(Limits::default().batch_bytes);
        Limits { batch_bytes: bytes, headers: self.headers, header_name: self.header_name }
    }

    /// Names those that were set, for a report.
    pub(super) fn tell(self, mut tell: impl FnMut(&str, serde_json::Value)) {
        let usual = Limits::default();
        if let Some(bytes) = self.batch_bytes {
            tell("maxBatchBytes", bytes.into());
        }
        if self.headers != usual.headers {
            tell("maxHeaders", self.headers.into());
        }
        if self.header_name != usual.header_name {
            tell("maxHeaderName", self.header_name.into());
        }
    }

    /// The limits within a run that may unpack `largest` bytes at once.
    ///
    /// # Errors
    /// When more was asked for.
    pub(super) fn within(self, largest: usize) -> Result<Limits, String> {
        let limits = self.limits();
        match self.batch_bytes {
            Some(asked) if asked > largest => Err(format!(
                "--max-batch-bytes {asked} is more than a quarter of --max-memory, which is {largest}"
            )),
            Some(_) => Ok(limits),
            None => Ok(Limits { batch_bytes: limits.batch_bytes.min(largest), ..limits }),
        }
    }
}

fn batch_bytes(text: &str) -> Result<usize, String> {
    let bytes = super::size::parse(text)?;
    usize::try_from(bytes).map_err(|_| "it is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_batch_is_bounded_by_memory() {
        let mut arguments = LimitArguments { batch_bytes: None, headers: 1, header_name: 2 };
        let expected = Limits { batch_bytes: 1 << 20, headers: 1, header_name: 2 };
        assert_eq!(arguments.within(1 << 20), Ok(expected));
        assert_eq!(arguments.limits().batch_bytes, 128 << 20);
        arguments.batch_bytes = Some(1 << 19);
        assert_eq!(arguments.within(1 << 20).unwrap().batch_bytes, 1 << 19);
        assert!(arguments.within(1 << 18).is_err());
    }
}
