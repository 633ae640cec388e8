//! `reconcile` for a terminal: how many keys are stored once, more often or not at all, and where in
//! the list the missing ones stand.

use super::backdrop::label;
use super::{coverage, escaped, named};
use crate::finding::BusinessKey;
use crate::report::answer::Answer;
use crate::report::escape::Terminal;
use crate::report::layout::{Page, Width};
use crate::report::reconcile::{
    Acknowledgement, Contents, MissingStretch, Neighbour, Reconciled, Seen, StoredKey, UnexpectedKey,
    WithheldBy, WithheldKey,
};
use crate::report::wording::{Zone, business_key, counted, number};
use std::io::{self, Write};

/// Entries of each list that are shown.
const SHOWN: usize = 10;
/// Columns of a key.
const KEY_COLUMNS: usize = 48;

/// Writes the answer.
pub fn write(answer: &Answer<Reconciled>, zone: &Zone, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(width).in_zone(zone.clone());
    let told = &answer.body;
    page.paragraph(0, &headline(told));
    page.blank();
    page.hanging(0, &label("Expected"), &expected(told));
    page.hanging(0, &label("Stored"), &format!("once {}", number(told.stored_once)));
    page.hanging(0, &label(""), &format!("more than once {}", number(told.stored_more.count)));
    page.hanging(0, &label("Missing"), &missing(told));
    if told.topics.len() > 1 {
        for (at, topic) in told.topics.iter().take(SHOWN).enumerate() {
            let said = format!(
                "{}: once {}, more than once {}, missing {}",
                named(&topic.topic),
                number(topic.stored_once),
                number(topic.stored_more),
                number(topic.missing)
            );
            page.hanging(0, &label(if at == 0 { "Topics" } else { "" }), &said);
        }
        more(&mut page, told.topics.len() as u64, told.topics.len(), "topics");
    }
    let unexpected = &told.unexpected;
    page.hanging(
        0,
        &label("Unexpected"),
        &format!("{} in {}", counted(unexpected.count, "key"), counted(unexpected.records, "record")),
    );
    levels(&mut page, told);
    stretches(&mut page, told);
    let (more, withheld) = (&told.stored_more, &told.withheld);
    keys(&mut page, "Stored more than once", more.count, &more.keys, stored_line);
    let heading = "Stored, and withheld from read_committed consumers";
    keys(&mut page, heading, withheld.count, &withheld.keys, withheld_line);
    acknowledged(&mut page, told);
    keys(&mut page, "Stored and not in the list", unexpected.count, &unexpected.keys, unexpected_line);
    page.blank();
    for doubt in &told.doubts {
        page.hanging(0, &label("Not read"), &escaped(doubt));
    }
    coverage::of_answer(&mut page, answer);
    page.write(out)
}

fn headline(told: &Reconciled) -> String {
    let without = told.expected.entries_without_key;
    let unasked = match without {
        0 => String::new(),
        1 => "; 1 entry of it has no key and was not looked for".to_owned(),
        more => format!("; {} entries of it have no key and were not looked for", number(more)),
    };
    format!("{}{}{unasked}.", stored(told), contradicted(told))
}

/// What the log says against acknowledgements.
fn contradicted(told: &Reconciled) -> String {
    let Some(acknowledged) = told.acknowledged.as_ref().filter(|one| one.contradicted > 0) else {
        return String::new();
    };
    let but = if told.all_once() { ", but" } else { ";" };
    let do_not = if acknowledged.contradicted == 1 { "does" } else { "do" };
    format!(
        "{but} {} of {} {do_not} not hold its key",
        number(acknowledged.contradicted),
        counted(acknowledged.entries, "acknowledged offset")
    )
}

fn stored(told: &Reconciled) -> String {
    let keys = told.expected.keys;
    if keys == 0 {
        return "No key of the list was looked for".to_owned();
    }
    if told.all_once() && !told.topics_agree() {
        return format!(
            "All {} of the list are stored, each at most once in a topic, but not all in the same topic",
            counted(keys, "key")
        );
    }
    if told.all_once() {
        let where_to = match told.partitions_not_given {
            0 if told.evidence_complete => String::new(),
            0 => " in what was read".to_owned(),
            1 => " in what was read; 1 partition was not given, and may hold more copies".to_owned(),
            more => format!(
                " in what was read; {} partitions were not given, and may hold more copies",
                number(more)
            ),
        };
        return match keys {
            1 => format!("The only key of the list is stored once{where_to}"),
            _ => format!("All {} of the list are stored once{where_to}", counted(keys, "key")),
        };
    }
    let mut parts = Vec::new();
    if told.missing.count > 0 {
        let where_to = if told.evidence_complete { "missing" } else { "not in what was read" };
        parts.push(format!("{} {where_to}", number(told.missing.count)));
    }
    if told.stored_more.count > 0 {
        parts.push(format!("{} stored more than once", number(told.stored_more.count)));
    }
    if told.withheld.count > 0 {
        parts.push(format!(
            "{} stored where read_committed consumers do not see them ({})",
            number(told.withheld.count),
            withheld_by(told)
        ));
    }
    format!("Of {} of the list {}", counted(keys, "key"), parts.join(", "))
}

fn expected(told: &Reconciled) -> String {
    let list = &told.expected;
    let mut text = format!(
        "{} in {}",
        counted(list.keys, "key"),
        counted(list.entries, "entry").replace("entrys", "entries")
    );
    if list.repeated_entries > 0 {
        text = format!("{text}, {} repeat a key", number(list.repeated_entries));
    }
    if list.entries_without_key > 0 {
        text = format!("{text}, {} have no key", number(list.entries_without_key));
    }
    format!("{text} ({}: {})", escaped(&list.file), escaped(&list.key.join(" + ")))
}

fn missing(told: &Reconciled) -> String {
    let missing = &told.missing;
    let mut text = format!(
        "{} in {}",
        counted(missing.count, "key"),
        counted(missing.stretch_count, "stretch").replace("stretchs", "stretches")
    );
    if let Some(older) = missing.older_than_log.filter(|older| *older > 0) {
        text = format!(
            "{text}; {} were sent before the oldest record that is left: they may have been stored and deleted",
            number(older)
        );
    }
    if missing.in_other_replicas > 0 {
        text = format!(
            "{text}; {} stand in a replica that does not lead, and only there",
            number(missing.in_other_replicas)
        );
    }
    text
}

fn levels(page: &mut Page, told: &Reconciled) {
    let said = |seen: Seen| {
        let (once, more, missing) = (number(seen.once), number(seen.more), number(seen.missing));
        format!("once {once}, more than once {more}, never {missing}")
    };
    let (all, committed) = (told.visibility.read_uncommitted, told.visibility.read_committed);
    if all == committed {
        page.hanging(0, &label("Readers"), &format!("both isolation levels: {}", said(all)));
    } else {
        page.hanging(0, &label("Readers"), &format!("read_uncommitted: {}", said(all)));
        page.hanging(0, &label(""), &format!("read_committed: {}", said(committed)));
    }
}

fn key(key: &BusinessKey) -> String {
    Terminal::text(&business_key(key)).cut(KEY_COLUMNS).to_string()
}

fn stretches(page: &mut Page, told: &Reconciled) {
    let missing = &told.missing;
    if missing.stretches.is_empty() {
        return;
    }
    page.blank();
    page.paragraph(0, if told.evidence_complete { "Missing" } else { "Not in what was read" });
    for stretch in missing.stretches.iter().take(SHOWN) {
        let line = stretch_line(stretch, page.zone());
        page.item(2, &line);
        let beside = [("before", &stretch.before), ("behind", &stretch.after)];
        for (side, neighbour) in beside {
            if let Some(neighbour) = neighbour {
                page.item(4, &neighbour_line(side, neighbour));
            }
        }
        if let Some(session) = &stretch.session {
            page.item(4, &format!("session {} wrote both", named(session)));
        }
        for one in [&stretch.first, &stretch.last].into_iter().take(if stretch.count == 1 { 1 } else { 2 }) {
            if let Some(copy) = &one.other_replica {
                page.item(
                    4,
                    &format!(
                        "{} stands only in {} at offset {}",
                        key(&one.business_key),
                        escaped(&copy.directory),
                        copy.offset
                    ),
                );
            }
        }
        for gap in &stretch.gaps {
            page.item(
                4,
                &format!(
                    "gap in {}-{} at offset {}: PID {} lacks {} from {} on ({})",
                    named(&gap.topic),
                    gap.partition,
                    gap.at_offset,
                    gap.producer_id,
                    counted(u64::from(gap.missing), "sequence"),
                    gap.expected,
                    gap.reason,
                ),
            );
        }
    }
    more(page, missing.stretch_count, missing.stretches.len(), "stretches");
}

fn stretch_line(stretch: &MissingStretch, zone: &Zone) -> String {
    let (first, last) = (&stretch.first, &stretch.last);
    let times = zone.labelled_span(first.timestamp, last.timestamp);
    let times = if times.is_empty() { times } else { format!(", sent {times}") };
    if stretch.count == 1 {
        format!("{}  line {}{times}", key(&first.business_key), first.line)
    } else {
        format!(
            "{} … {}  lines {}–{}, {}{times}",
            key(&first.business_key),
            key(&last.business_key),
            first.line,
            last.line,
            counted(stretch.count, "key"),
        )
    }
}

fn neighbour_line(side: &str, neighbour: &Neighbour) -> String {
    let place = neighbour.copy.as_ref().map_or_else(String::new, |copy| {
        let session = copy.session.as_ref().map_or_else(
            || "without producer id".to_owned(),
            |session| format!("session {}", named(session)),
        );
        let sequence = copy.sequence.map_or_else(String::new, |sequence| format!(", sequence {sequence}"));
        format!(": {}-{} offset {}, {session}{sequence}", named(&copy.topic), copy.partition, copy.offset)
    });
    format!("{side}: {}{place}", key(&neighbour.business_key))
}

/// The first of `count` keys, a line each, below a heading; nothing where none is listed.
fn keys<T>(page: &mut Page, heading: &str, count: u64, listed: &[T], line: impl Fn(&T) -> String) {
    if listed.is_empty() {
        return;
    }
    page.blank();
    page.paragraph(0, heading);
    for one in listed.iter().take(SHOWN) {
        page.item(2, &line(one));
    }
    more(page, count, listed.len(), "keys");
}

/// Why a key is withheld that may yet be given.
const UNDECIDED: &str = "in or behind an open transaction";

/// How many are aborted, and how many not decided.
fn withheld_by(told: &Reconciled) -> String {
    let (aborted, open) = (told.withheld.aborted, told.withheld.open);
    let undecided = format!("{} {UNDECIDED}", number(open));
    match (aborted, open) {
        (aborted, 0) => format!("{} aborted", number(aborted)),
        (0, _) => undecided,
        (aborted, _) => format!("{} aborted, {undecided}", number(aborted)),
    }
}

fn withheld_line(one: &WithheldKey) -> String {
    let place = one.copy.as_ref().map_or_else(String::new, |copy| {
        format!("{}-{} offset {}, ", named(&copy.topic), copy.partition, copy.offset)
    });
    let by = match one.by {
        WithheldBy::Aborted => WithheldBy::Aborted.name(),
        WithheldBy::Open => UNDECIDED,
    };
    format!("{}  line {}, {place}{by}", key(&one.business_key), one.line)
}

fn stored_line(one: &StoredKey) -> String {
    let seen = if one.records == one.records_committed {
        String::new()
    } else {
        format!(", {} for read_committed", number(one.records_committed))
    };
    let why = if one.findings.is_empty() {
        let why = match one.contents {
            Some(Contents::Equal) => "no finding: the records are equal, and nothing accuses them",
            Some(Contents::Different) => "no finding: the records differ",
            Some(Contents::Mixed) => "no finding: some of the records differ, and nothing accuses the others",
            None => "no finding",
        };
        why.to_owned()
    } else {
        one.findings.iter().map(|id| named(id).into_owned()).collect::<Vec<_>>().join(", ")
    };
    format!("{}  {}{seen}  {why}", key(&one.business_key), counted(one.records, "record"))
}

fn acknowledged(page: &mut Page, told: &Reconciled) {
    let Some(told) = &told.acknowledged else { return };
    page.blank();
    page.paragraph(
        0,
        &format!(
            "Acknowledged offsets: {} of {} hold the key",
            number(told.stored_there),
            number(told.entries)
        ),
    );
    if told.unplaced > 0 {
        page.item(
            2,
            &format!(
                "{} could not be looked up: no partition named, or too many records or entries with the key",
                number(told.unplaced)
            ),
        );
    }
    for one in told.examples.iter().take(SHOWN) {
        page.item(2, &acknowledgement(one));
    }
    more(page, told.elsewhere, told.examples.len(), "entries");
}

fn acknowledgement(one: &Acknowledgement) -> String {
    let what = match (one.what.as_str(), &one.holds) {
        ("another-key", Some(holds)) => format!("holds {}", key(holds)),
        ("behind-the-end", _) => "lies behind the end of the log".to_owned(),
        ("below-the-start", _) => "lies before the start of the log".to_owned(),
        ("partition-not-given", _) => "is in a partition that was not given".to_owned(),
        _ => "holds no record of a producer".to_owned(),
    };
    let open = match one.what.as_str() {
        "nothing" if !one.contradicted => " (it may have been cleaned, or could not be read)",
        _ => "",
    };
    let partition = match &one.topic {
        Some(topic) => format!("{}-{}", named(topic), one.partition),
        None => format!("partition {}", one.partition),
    };
    format!(
        "{} (line {}): offset {} of {partition} {what}{open}",
        key(&one.business_key),
        one.line,
        one.offset
    )
}

fn unexpected_line(one: &UnexpectedKey) -> String {
    let copy = &one.copy;
    let place = format!("{}-{} offset {}", named(&copy.topic), copy.partition, copy.offset);
    format!("{}  {place}", key(&one.business_key))
}

fn more(page: &mut Page, all: u64, listed: usize, what: &str) {
    let rest = all.saturating_sub(listed.min(SHOWN) as u64);
    if rest > 0 {
        page.paragraph(2, &format!("… and {} more {what}", number(rest)));
    }
}
