//! How much was read, what could not be, and what else to know about the evidence.

use super::backdrop::label;
use super::{escaped, named};
use crate::finding::phrase::offsets;
use crate::report::answer::{Answer, Reading};
use crate::report::how_read::{self, HowRead, amount};
use crate::report::layout::Page;
use crate::report::model::{Coverage, DamageReport, Redaction, Report};
use crate::report::wording::{self, counted, number, redacted};

/// Places of damage that are shown.
const DAMAGE: usize = 10;
/// Notes that are shown.
const NOTES: usize = 10;

pub(super) fn show(page: &mut Page, report: &Report) {
    write(page, &report.coverage, Reading::of_verdict(&report.verdict));
    hidden(page, report.redaction.as_ref());
}

/// The coverage of an answer, and what is hidden in it.
pub(in crate::report) fn of_answer<T>(page: &mut Page, answer: &Answer<T>) {
    write(page, &answer.coverage, answer.reading());
    hidden(page, answer.redaction.as_ref());
}

/// Says that texts are replaced, where they are.
fn hidden(page: &mut Page, redaction: Option<&Redaction>) {
    if let Some(redaction) = redaction {
        page.hanging(0, &label("Redacted"), &redacted(redaction));
    }
}

fn write(page: &mut Page, coverage: &Coverage, reading: Reading) {
    let how_much = HowRead::of(coverage, reading).words();
    page.hanging(0, &label("Coverage"), &format!("{}: {how_much}", amount(coverage)));
    if let Some(said) = how_read::agreement(coverage) {
        page.hanging(0, &label(""), &said);
    }
    for absent in wording::absent_by_topic(coverage).iter().take(NOTES) {
        page.hanging(0, &label(""), absent);
    }
    let counts = wording::uncompared(coverage);
    if !counts.is_empty() {
        page.hanging(0, &label(""), &counts.join(", "));
    }
    // What was to be expected comes last.
    let expected = coverage.damage.iter().filter(|damage| damage.expected);
    for one in coverage.unexpected().chain(expected).take(DAMAGE) {
        page.hanging(0, &label(""), &damage_line(one));
    }
    rest(
        page,
        coverage.damage.len().saturating_sub(DAMAGE),
        coverage.damage_omitted,
        "place of damage",
        "places of damage",
    );
    for note in coverage.notes.iter().take(NOTES) {
        let file = note.file.as_ref().map(|file| format!("{}: ", path(file))).unwrap_or_default();
        page.hanging(0, &label(""), &format!("note: {file}{}", escaped(&note.detail)));
    }
    rest(page, coverage.notes.len().saturating_sub(NOTES), coverage.notes_omitted, "note", "notes");
}

/// `not readable: orders-2: Permission denied (os error 13)`, `damage: orders-0/….log at 7312: truncated-tail, 20 bytes: batch needs … (to be expected)`
fn damage_line(damage: &DamageReport) -> String {
    let expected = if damage.expected { " (to be expected in a log that was not closed)" } else { "" };
    let missing = match (damage.first_offset, damage.last_offset) {
        (Some(first), Some(last)) if damage.records_missing == Some(false) => {
            format!(", {} were read all the same", offsets(first, last))
        }
        (Some(first), Some(last)) => format!(", {}", offsets(first, last)),
        (Some(first), None) => format!(", offsets from {first}"),
        (None, _) if damage.records_missing == Some(false) => ", nothing is missing".to_owned(),
        (None, _) => String::new(),
    };
    if damage.is_unreadable() {
        return format!(
            "not readable: {} from byte {} on{missing}: {}",
            path(&damage.file),
            damage.position,
            escaped(&damage.detail)
        );
    }
    format!(
        "damage: {} at {}: {}, {}{missing}: {}{expected}",
        path(&damage.file),
        damage.position,
        named(&damage.kind),
        counted(damage.length, "byte"),
        escaped(&damage.detail),
    )
}

/// A path is shown in full, because somebody will open it.
fn path(file: &str) -> String {
    escaped(file).into_owned()
}

fn rest(page: &mut Page, shown_less: usize, omitted: u64, singular: &str, plural: &str) {
    let count = (shown_less as u64).saturating_add(omitted);
    if count > 0 {
        let what = if count == 1 { singular } else { plural };
        page.hanging(0, &label(""), &format!("… and {} more {what}", number(count)));
    }
}
