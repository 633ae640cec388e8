//! Says on standard error how far an audit is: a bar on a terminal, lines elsewhere when asked for
//! (`-v`). Nothing is left behind, and nothing of it is in a report.

use super::size;
use crate::audit::{Stage, Watch};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How much is said on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Talk {
    /// Errors alone.
    Quiet,
    /// A bar on a terminal.
    Usual,
    /// Stages, and lines where no bar can be.
    Verbose,
}

/// How much is said, as it is asked for.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct TalkArguments {
    /// Say nothing on standard error but errors
    #[arg(long, short)]
    quiet: bool,
    /// Say on standard error what is done, and how far it is
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
}

impl TalkArguments {
    pub(super) const fn talk(self) -> Talk {
        match (self.quiet, self.verbose) {
            (true, _) => Talk::Quiet,
            (false, true) => Talk::Verbose,
            (false, false) => Talk::Usual,
        }
    }
}

/// How often is looked.
const LOOK: Duration = Duration::from_millis(100);
/// How often a line is written where no bar can be.
const LINE: Duration = Duration::from_secs(5);
/// What takes less time needs no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Tells until it is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    done: mpsc::Sender<()>,
    teller: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to tell of `watch`.
    pub(super) fn of(watch: Watch, talk: Talk) -> Self {
        let (done, ended) = mpsc::channel();
        let teller = (talk != Talk::Quiet).then(|| {
            std::thread::spawn(move || {
                let mut teller = Teller::new(watch, talk);
                while let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
                    teller.tell();
                }
                teller.end();
            })
        });
        Self { done, teller }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Whoever does not listen any more has ended.
        let _ = self.done.send(());
        if let Some(teller) = self.teller.take() {
            let _ = teller.join();
        }
    }
}

struct Teller {
    watch: Watch,
    stop: Arc<AtomicBool>,
    talk: Talk,
    begin: Instant,
    bar: Option<ProgressBar>,
    is_terminal: bool,
    stage: Stage,
    stage_begin: Instant,
    line: Instant,
    /// Whether it was said that the run is ending.
    ending: bool,
}

impl Teller {
    fn new(watch: Watch, talk: Talk) -> Self {
        let (now, stop) = (Instant::now(), watch.stop_flag());
        let (bar, is_terminal) = (None, io::stderr().is_terminal());
        let stage = watch.stage();
        Self {
            watch,
            stop,
            talk,
            begin: now,
            bar,
            is_terminal,
            stage,
            stage_begin: now,
            line: now,
            ending: false,
        }
    }

    fn tell(&mut self) {
        if self.stop.load(Ordering::Relaxed) && !self.ending {
            self.ending = true;
            self.say("interrupted: ending with what was found; once more to quit at once");
        }
        let stage = self.watch.stage();
        if stage != self.stage {
            if self.talk == Talk::Verbose {
                let took = self.stage_begin.elapsed();
                self.say(&format!("{} took {:.1} s", self.stage.name(), took.as_secs_f64()));
            }
            (self.stage, self.stage_begin) = (stage, Instant::now());
        }
        if self.is_terminal {
            if self.begin.elapsed() >= PATIENCE {
                self.draw();
            }
        } else if self.talk == Talk::Verbose && self.line.elapsed() >= LINE {
            self.line = Instant::now();
            let (done, all) = self.watch.bytes();
            let line = line(self.stage, done, all, self.stage_begin.elapsed());
            self.say(&line);
        }
    }

    fn draw(&mut self) {
        let (done, all) = self.watch.bytes();
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            let template =
                "{msg} {bar:30} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        bar.set_length(all);
        bar.set_position(done);
        bar.set_message(self.stage.name());
    }

    /// A line that stays, above the bar.
    fn say(&self, text: &str) {
        let write = || {
            // Nobody is left to tell when standard error is gone.
            let _ = writeln!(io::stderr(), "dedup-audit: {text}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if self.talk == Talk::Verbose {
            let (done, _) = self.watch.bytes();
            let took = self.begin.elapsed().as_secs_f64();
            self.say(&format!("read {} in {took:.1} s", size::shown(done)));
        }
    }
}

/// `reading: 123.4 MiB of 960.0 MiB, 210.0 MiB/s, 4 s left`
fn line(stage: Stage, done: u64, all: u64, took: Duration) -> String {
    let rate = u64::try_from(u128::from(done) * 1000 / took.as_millis().max(1)).unwrap_or(u64::MAX);
    let line = format!("{}: {} of {}", stage.name(), size::shown(done), size::shown(all));
    if stage != Stage::Reading || rate == 0 {
        return line;
    }
    let left = all.saturating_sub(done).div_ceil(rate);
    format!("{line}, {}/s, {left} s left", size::shown(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_how_fast_and_how_long() {
        let line = line(Stage::Reading, 100 << 20, 400 << 20, Duration::from_secs(2));
        assert_eq!(line, "reading: 100.0 MiB of 400.0 MiB, 50.0 MiB/s, 6 s left");
    }
}
