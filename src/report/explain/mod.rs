//! What a finding means: one row a code, offline.
//!
//! The paragraphs say what the files show and what else could look like it. They follow Kafka's own
//! behaviour (`ProducerStateManager`, `TransactionManager`, KIP-98, KIP-360, KIP-679, KIP-854,
//! KIP-890) and name the tickets where a release differs.

mod duplicates;
mod log;
mod protection;

use super::layout::{Page, Width};
use crate::finding::{Code, Level, Severity, Word};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// One row of the table of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The code.
    pub code: Code,
    /// One line, lower case, without a full stop.
    pub meaning: &'static str,
    /// What the files show, as a paragraph.
    pub shows: &'static str,
    /// What else looks like it.
    pub innocent: &'static [&'static str],
    /// The evidence that such a finding carries.
    pub evidence: &'static [&'static str],
    /// What to do.
    pub next: &'static [&'static str],
}

/// The row for what this version does not know.
const LATER: Explanation = Explanation {
    code: Code::Other(Word::UNKNOWN),
    meaning: "a finding that this version does not know",
    shows: "A later version of the tool wrote this report, and explains the code.",
    innocent: &[],
    evidence: &[],
    next: &["ask the version that wrote the report: dedup-audit explain"],
};

/// The row of a code.
#[must_use]
pub const fn of(code: Code) -> &'static Explanation {
    match code {
        Code::RetryWithoutIdempotence => &duplicates::RETRY_WITHOUT_IDEMPOTENCE,
        Code::ResendNewSession => &duplicates::RESEND_NEW_SESSION,
        Code::ConcurrentProducers => &duplicates::CONCURRENT_PRODUCERS,
        Code::ResendSameSession => &duplicates::RESEND_SAME_SESSION,
        Code::EpochBumpResend => &duplicates::EPOCH_BUMP_RESEND,
        Code::BrokerDedupLost => &duplicates::BROKER_DEDUP_LOST,
        Code::ProducerIdCollision => &duplicates::PRODUCER_ID_COLLISION,
        Code::MisplacedBatch => &duplicates::MISPLACED_BATCH,
        Code::PipelineReplay => &duplicates::PIPELINE_REPLAY,
        Code::RestoredCopy => &duplicates::RESTORED_COPY,
        Code::AbortedThenRetried => &duplicates::ABORTED_THEN_RETRIED,
        Code::AbortedNotRetried => &duplicates::ABORTED_NOT_RETRIED,
        Code::DuplicateUndetermined => &duplicates::DUPLICATE_UNDETERMINED,
        Code::IdempotenceOff => &protection::IDEMPOTENCE_OFF,
        Code::IdempotenceLost => &protection::IDEMPOTENCE_LOST,
        Code::IdempotenceIneffective => &protection::IDEMPOTENCE_INEFFECTIVE,
        Code::SequenceGap => &log::SEQUENCE_GAP,
        Code::SequenceGapExplained => &log::SEQUENCE_GAP_EXPLAINED,
        Code::SequenceAnomaly => &log::SEQUENCE_ANOMALY,
        Code::OffsetGap => &log::OFFSET_GAP,
        Code::OffsetReuse => &log::OFFSET_REUSE,
        Code::OrderBroken => &protection::ORDER_BROKEN,
        Code::SnapshotMismatch => &log::SNAPSHOT_MISMATCH,
        Code::IndexMismatch => &log::INDEX_MISMATCH,
        Code::TransactionOpen => &log::TRANSACTION_OPEN,
        Code::TransactionAnomaly => &log::TRANSACTION_ANOMALY,
        Code::MisroutedKey => &protection::MISROUTED_KEY,
        Code::ProducerChurn => &protection::PRODUCER_CHURN,
        Code::ReplicaDivergence => &log::REPLICA_DIVERGENCE,
        Code::OldLeaderTail => &log::OLD_LEADER_TAIL,
        Code::LeaderEpochAnomaly => &log::LEADER_EPOCH_ANOMALY,
        Code::InterleavedWriters => &protection::INTERLEAVED_WRITERS,
        Code::ConsumerRewind => &protection::CONSUMER_REWIND,
        Code::Other(_) => &LATER,
    }
}

/// The code of a name as people type it; case and underscores do not count.
#[must_use]
pub fn find(name: &str) -> Option<Code> {
    let name = name.trim().to_lowercase().replace('_', "-");
    Code::ALL.iter().copied().find(|code| code.name() == name)
}

/// The code whose name is nearest to what was typed, if any is near.
#[must_use]
pub fn nearest(name: &str) -> Option<Code> {
    // Longer than any code with a typing mistake in each letter: not worth the comparison.
    let name: String = name.trim().to_lowercase().replace('_', "-").chars().take(64).collect();
    let distance = |code: &Code| strsim::normalized_damerau_levenshtein(&name, code.name());
    let part = Code::ALL.iter().copied().find(|code| name.len() >= 4 && code.name().contains(&name));
    part.or_else(|| {
        let best = Code::ALL.iter().copied().max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        (distance(&best) >= 0.5).then_some(best)
    })
}

/// Writes all codes, one line each.
pub fn write_list(width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(width);
    let name_columns = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or(0);
    for code in Code::ALL {
        let label = format!("{:<name_columns$}  {:<6}  ", code.name(), code.severity().name());
        page.hanging(0, &label, of(*code).meaning);
    }
    page.blank();
    let levels: Vec<String> = Level::ALL.iter().map(|level| format!("{level} {}", level.words())).collect();
    page.paragraph(0, &format!("How equal copies are, in JSON and CSV: {}.", levels.join("; ")));
    page.blank();
    page.paragraph(0, "dedup-audit explain CODE says more about one of them.");
    page.write(out)
}

/// Writes the whole row of one code.
pub fn write_one(code: Code, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let row = of(code);
    let mut page = Page::new(width);
    page.hanging(0, &format!("{code}  "), &format!("({})", severity(code)));
    page.paragraph(2, &capital(row.meaning));
    page.blank();
    page.paragraph(0, "What the files show");
    page.paragraph(2, row.shows);
    for (title, lines) in [
        ("What else looks like it", row.innocent),
        ("Evidence in the finding", row.evidence),
        ("What to do", row.next),
    ] {
        page.blank();
        page.paragraph(0, title);
        for line in lines {
            page.hanging(2, "- ", line);
        }
    }
    page.write(out)
}

/// The rows as JSON: one object with all of `codes`.
pub fn write_json(codes: &[Code], out: &mut dyn Write) -> io::Result<()> {
    let rows = codes.iter().map(|code| Row::of(*code)).collect();
    let table = Table { schema_version: super::model::SCHEMA_VERSION, codes: rows };
    serde_json::to_writer_pretty(&mut *out, &table)?;
    out.write_all(b"\n")
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Table {
    schema_version: &'static str,
    codes: Vec<Row>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Row {
    code: Code,
    severity: Severity,
    meaning: &'static str,
    shows: &'static str,
    innocent: &'static [&'static str],
    evidence: &'static [&'static str],
    next: &'static [&'static str],
}

impl Row {
    fn of(code: Code) -> Self {
        let Explanation { meaning, shows, innocent, evidence, next, .. } = *of(code);
        Self { code, severity: code.severity(), meaning, shows, innocent, evidence, next }
    }
}

/// The severity in words; some codes have more than one.
fn severity(code: Code) -> String {
    match code {
        Code::SequenceGapExplained | Code::OldLeaderTail => "info, low where it cannot be checked".to_owned(),
        Code::OffsetGap | Code::TransactionAnomaly => {
            "high, medium or low where the evidence is weaker".to_owned()
        }
        Code::ProducerIdCollision | Code::IdempotenceLost => {
            "high, medium where the evidence is weaker".to_owned()
        }
        Code::LeaderEpochAnomaly => {
            "high, low where only the newest epoch is not in the checkpoint".to_owned()
        }
        Code::IdempotenceOff => "medium, low where the evidence is weaker".to_owned(),
        _ => code.severity().to_string(),
    }
}

fn capital(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).chain(['.']).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_row_that_is_its_own() {
        assert_eq!(Code::ALL.len(), 33);
        for code in Code::ALL {
            let row = of(*code);
            assert_eq!(row.code, *code);
            assert!(!row.meaning.ends_with('.') && row.meaning.len() <= 100, "{code}: {}", row.meaning);
            assert!(row.shows.ends_with('.') && row.shows.len() > 200, "{code}");
            assert!(!row.innocent.is_empty() && !row.evidence.is_empty() && !row.next.is_empty(), "{code}");
            for text in [row.innocent, row.evidence, row.next].concat().iter().chain([&row.shows]) {
                assert!(
                    !text.contains("  ") && text.trim() == *text && text.is_ascii() || text.contains('…'),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn a_code_that_may_be_told_lower_says_so() {
        let said = |code| {
            let mut text = Vec::new();
            write_one(code, Width::new(100), &mut text).unwrap();
            String::from_utf8(text).unwrap().lines().next().unwrap().to_owned()
        };
        assert_eq!(said(Code::ResendNewSession), "resend-new-session  (high)");
        assert_eq!(said(Code::OffsetGap), "offset-gap  (high, medium or low where the evidence is weaker)");
        assert_eq!(said(Code::OldLeaderTail), "old-leader-tail  (info, low where it cannot be checked)");
    }

    #[test]
    fn a_name_is_found_as_people_type_it_and_a_slip_is_mended() {
        assert_eq!(find("Resend_New_Session "), Some(Code::ResendNewSession));
        assert_eq!(find("resend"), None);
        assert_eq!(nearest("sequence-gaps"), Some(Code::SequenceGap));
        assert_eq!(nearest("idempotence-of"), Some(Code::IdempotenceOff));
        assert_eq!(nearest("concurrent"), Some(Code::ConcurrentProducers));
        assert_eq!(nearest("xyzzy"), None);
        assert_eq!(nearest(""), None);
        assert_eq!(nearest(&"a".repeat(1 << 20)), None);
    }

    #[test]
    fn the_list_fits_its_width_and_names_all() {
        for columns in [60, 80, 300] {
            let mut text = Vec::new();
            write_list(Width::new(columns), &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            assert!(Code::ALL.iter().all(|code| text.contains(code.name())));
        }
    }

    #[test]
    fn the_json_holds_the_same_words() {
        let mut text = Vec::new();
        write_json(Code::ALL, &mut text).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["codes"].as_array().unwrap().len(), 33);
        assert_eq!(value["codes"][1]["code"], "resend-new-session");
        assert_eq!(value["codes"][1]["meaning"], of(Code::ResendNewSession).meaning);
    }
}
