//! Labelled incidents: a seed makes logs and the list of the copies in them, with what happened.
//!
//! [`incidents`] says what clients and applications do, in any mixture, and labels each surplus copy;
//! [`broker`] is the log that they write to: it rolls segments, takes snapshots, removes whole
//! segments and cleans, and keeps the labels true. Labels come from the story, never from the tool.
//!
//! What is made here proves that the rules agree with themselves. Only real brokers prove that they
//! are right.

mod broker;
mod incidents;

pub use self::broker::{Copies, Label, Log, LogFiles};
pub use self::incidents::{Incident, Keys, story};

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// Numbers that a seed decides (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from `from` to `to`, both included.
    pub fn roll(&mut self, from: i64, to: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let span = to.abs_diff(from) + 1;
        from + i64::try_from(mixed % span).expect("a span of dice is small")
    }

    /// Whether something happens that happens once in so many times.
    pub fn once_in(&mut self, times: i64) -> bool {
        self.roll(1, times) == 1
    }
}

/// What was made, in the order of topics.
#[derive(Clone, Debug)]
pub struct Made {
    /// Directories with their logs.
    pub logs: Vec<Log>,
    /// What happened.
    pub incidents: Vec<Incident>,
    /// What tells the events apart.
    pub keys: Keys,
}

impl Made {
    /// The logs of a seed: one to four incidents, and on some of them retention or the cleaner.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let (mut logs, incidents, keys) = story(&mut dice);
        for log in &mut logs {
            match dice.roll(0, 5) {
                0 => log.retain(&mut dice),
                1 => log.clean(&mut dice),
                _ => {}
            }
        }
        Self { logs, incidents, keys }
    }

    /// Writes the directories below `root`.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        fs::write(
            root.join("meta.properties"),
            "version=1\nbroker.id=1\nnode.id=1\ncluster.id=synthAAAAAAAAAAAAAAAAAA\n",
        )?;
        let mut cleaned = String::new();
        let mut starts = String::new();
        for log in &self.logs {
            let files = log.files();
            let directory = root.join(log.directory());
            fs::create_dir_all(&directory)?;
            for (name, bytes) in files.files {
                fs::write(directory.join(name), bytes)?;
            }
            if let Some(offset) = files.cleaned_up_to {
                let _ = writeln!(cleaned, "{} {} {offset}", log.topic(), log.partition());
            }
            if files.log_start > 0 {
                let _ = writeln!(starts, "{} {} {}", log.topic(), log.partition(), files.log_start);
            }
        }
        for (name, lines) in [("cleaner-offset-checkpoint", cleaned), ("log-start-offset-checkpoint", starts)]
        {
            if !lines.is_empty() {
                fs::write(root.join(name), format!("0\n{}\n{lines}", lines.lines().count()))?;
            }
        }
        Ok(())
    }

    /// Every surplus copy, in the order of logs and offsets.
    #[must_use]
    pub fn copies(&self) -> Copies {
        self.logs.iter().flat_map(Log::surplus).collect()
    }
}
