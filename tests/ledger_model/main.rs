//! A second ledger, naive and slow, agrees with the real one on logs that were played.
//!
//! Each seed is one log: producers of four kinds, retries, restarts, expiry, elections, retention,
//! the cleaner, lost state, and a fault in the files of one log of four. `LEDGER_LOGS` says how many
//! (`.ci/release` asks for 10,000), `LEDGER_SEED` where to begin; with `LEDGER_SHOW` set a difference is
//! followed by its log.
#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

mod dice;
mod files;
mod ledger;
mod told;
mod world;

use dedup_audit::audit::{self, AuditOptions};
use dedup_audit::judgement::duplicates::Examples;
use dedup_audit::report::model::Report;
use ledger::Ledger;
use std::collections::BTreeMap;
use std::path::Path;
use world::{Disk, Happened, World};

/// Logs of one log directory.
const TOGETHER: usize = 50;

#[test]
fn a_naive_ledger_agrees() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (first, count) = (number("LEDGER_SEED", 1), number("LEDGER_LOGS", 200));
    let mut differences = Vec::new();
    let mut variety = BTreeMap::new();
    let mut seeds = first..first + count;
    while !seeds.is_empty() {
        let played: Vec<Played> = seeds.by_ref().take(TOGETHER).map(Played::from_seed).collect();
        // Whether a clean shutdown is noted is said once a directory.
        let (unclean, clean): (Vec<_>, Vec<_>) = played.into_iter().partition(|played| played.disk.unclean);
        for played in [unclean, clean] {
            differences.extend(compare(&played, &mut variety));
        }
    }
    assert!(count < 200 || variety.len() >= 14, "few kinds of things happened: {variety:?}");
    let shown = differences.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences, such as\n{shown}", differences.len());
}

struct Played {
    seed: u64,
    topic: String,
    disk: Disk,
    happened: Happened,
}

impl Played {
    fn from_seed(seed: u64) -> Self {
        let (disk, happened) = World::play(seed);
        Self { seed, topic: format!("t{seed:06}"), disk, happened }
    }
}

fn compare(played: &[Played], variety: &mut BTreeMap<String, usize>) -> Vec<String> {
    if played.is_empty() {
        return Vec::new();
    }
    let root = tempfile::tempdir().unwrap();
    let logs: Vec<_> = played.iter().map(|played| (played.topic.clone(), &played.disk)).collect();
    files::write(root.path(), &logs);
    let report = audited(root.path());
    let by_topic = told::by_topic(&report);
    let mut differences = Vec::new();
    for played in played {
        let told = &by_topic[&played.topic];
        let expected = Ledger::read(&played.disk);
        for kind in expected.kinds() {
            *variety.entry(kind).or_default() += 1;
        }
        for difference in told.differences(&expected, &played.disk, played.happened) {
            differences.push(format!("seed {}: {difference}", played.seed));
            if std::env::var_os("LEDGER_SHOW").is_some() {
                differences.push(played.disk.to_string());
            }
        }
    }
    differences
}

fn audited(root: &Path) -> Report {
    let options = AuditOptions {
        threads: 1,
        examples: Examples::All,
        expiration_ms: Some(world::DAY),
        ..AuditOptions::over(vec![root.to_owned()])
    };
    audit::run(&options).unwrap().report
}
