//! `compare` for a terminal: each pair of logs with what is equal, what only one holds, and what stands
//! beside the logs.

use super::{coverage, escaped, finding, named, timeline};
use crate::finding::Visibility;
use crate::finding::phrase::{offsets, range};
use crate::report::answer::{Answer, Reading};
use crate::report::compare::{Compared, Mirror, Pair, Range, Side};
use crate::report::escape::Terminal;
use crate::report::layout::{Page, Width};
use crate::report::model::LeaderEpochStart;
use crate::report::wording::{Zone, business_key, counted, number};
use crate::report::zoned::told;
use std::io::{self, Write};

/// Entries of each list that are shown.
const SHOWN: usize = 10;
/// Pairs that are shown in full.
const PAIRS: usize = 20;
/// Columns of a key.
const KEY_COLUMNS: usize = 48;

/// Whether what happened is shown in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// It is.
    Shown,
    /// It is in the JSON.
    LeftOut,
}

/// Writes the answer.
pub fn write(
    answer: &Answer<Compared>,
    events: Events,
    zone: &Zone,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(width).in_zone(zone.clone());
    let told = &*told(&answer.body, zone);
    page.paragraph(0, &headline(told, answer.reading()));
    let mut in_order: Vec<&Pair> = told.pairs.iter().collect();
    in_order.sort_by_key(|pair| pair.equal);
    for pair in in_order.iter().take(PAIRS) {
        page.blank();
        show(&mut page, pair);
    }
    let more = told.pairs.len().saturating_sub(PAIRS) as u64;
    if more > 0 {
        page.blank();
        page.paragraph(0, &format!("… and {} more in the JSON", counted(more, "pair")));
    }
    for found in &told.findings {
        page.blank();
        finding::show(&mut page, found);
    }
    if events == Events::Shown {
        page.blank();
        timeline::show(&mut page, &told.events, told.events_omitted);
    }
    page.blank();
    if !told.unpaired.is_empty() {
        let shown: Vec<_> = told.unpaired.iter().take(SHOWN).map(|path| escaped(path).into_owned()).collect();
        let more = told.unpaired.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        page.paragraph(0, &format!("Without counterpart: {}{more}", shown.join(", ")));
    }
    for [a, b] in told.uncompared.iter().take(SHOWN) {
        page.paragraph(0, &format!("Not compared: {} — {}", escaped(a), escaped(b)));
    }
    let more = told.uncompared.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        page.paragraph(0, &format!("… and {} more", counted(more, "pair")));
    }
    coverage::of_answer(&mut page, answer);
    page.write(out)
}

fn headline(told: &Compared, reading: Reading) -> String {
    let all = counted(told.pairs.len() as u64, "pair");
    let different = told.pairs.iter().filter(|pair| !pair.equal).count() as u64;
    let differs = |pair: &&Pair| pair.equal && !pair.snapshots.is_empty();
    let beside = match told.pairs.iter().filter(differs).count() as u64 {
        0 => String::new(),
        _ if different > 0 => String::new(),
        1 if told.pairs.len() == 1 => " Their producer snapshots differ.".to_owned(),
        pairs => format!(" Producer snapshots differ in {} of them.", number(pairs)),
    };
    match (different, reading) {
        (0, Reading::Interrupted) => format!("Interrupted: of {all}, no difference was seen until then."),
        (different, Reading::Interrupted) => {
            format!("Interrupted: of {all}, {} different.", number(different))
        }
        (0, Reading::Whole | Reading::Partial) if told.unpaired_records_alone > 0 => {
            let alone = counted(told.unpaired_records_alone, "record");
            format!(
                "{all} compared: {alone} of partitions without counterpart stand nowhere on the other side."
            )
        }
        (0, Reading::Whole | Reading::Partial) if told.all_compared() && beside.is_empty() => {
            format!("{all} compared: all are equal{}.", but_for_content(told))
        }
        (0, Reading::Whole | Reading::Partial) if told.all_compared() => {
            format!("{all} compared: all records are equal.{beside}")
        }
        (0, Reading::Whole | Reading::Partial) => {
            format!("{all} compared: no difference was seen, but {}.{beside}", uncompared(told))
        }
        (different, Reading::Whole | Reading::Partial) if told.all_compared() => {
            format!("{all} compared: {} different.", number(different))
        }
        (different, Reading::Whole | Reading::Partial) => {
            format!("{all} compared: {} different; {}.", number(different), uncompared(told))
        }
    }
}

/// What differs in records that were matched, and does not count.
fn but_for_content(told: &Compared) -> String {
    let of_mirrors = told.pairs.iter().filter_map(|pair| Some((pair, pair.mirror.as_ref()?)));
    let (mut by, mut records) = ("", 0_u64);
    for (pair, mirror) in of_mirrors.filter(|(_, mirror)| mirror.other_content > 0) {
        by = other_content(pair);
        records += mirror.other_content;
    }
    if records == 0 { String::new() } else { format!(", but for {by} of {}", counted(records, "record")) }
}

/// What may differ in records that were matched.
fn other_content(pair: &Pair) -> &'static str {
    if pair.matched_by == "key" { "what is no part of the key" } else { "the headers" }
}

/// What was to be compared and was not.
fn uncompared(told: &Compared) -> String {
    let mut parts = Vec::new();
    if told.unpaired_with_data > 0 {
        let have = if told.unpaired_with_data == 1 { "has" } else { "have" };
        parts.push(format!("{} {have} no counterpart", counted(told.unpaired_with_data, "partition")));
    }
    let nothing = told.pairs.iter().filter(|pair| pair.nothing_compared).count() as u64;
    if nothing > 0 {
        parts.push(format!("of {} nothing could be compared", counted(nothing, "pair")));
    }
    let unmatched = |pair: &Pair| pair.mirror.as_ref().map_or(0, |mirror| mirror.unmatched);
    let unmatched: u64 = told.pairs.iter().map(unmatched).sum();
    if unmatched > 0 {
        parts.push(format!("{} could not be matched", counted(unmatched, "record")));
    }
    let of_mirrors = told.pairs.iter().filter_map(|pair| pair.mirror.as_ref());
    let repeated: u64 = of_mirrors.map(|mirror| mirror.repeated_removed).sum();
    if repeated > 0 {
        parts.push(format!("{} may be repeated or of what was removed", counted(repeated, "record")));
    }
    let of_mirrors = || told.pairs.iter().filter_map(|pair| pair.mirror.as_ref());
    let aborted: u64 = of_mirrors().map(|mirror| mirror.shown_aborted_removed).sum();
    if aborted > 0 {
        parts.push(format!(
            "{} may be of what was aborted or of what was removed",
            counted(aborted, "record")
        ));
    }
    let open: u64 = of_mirrors().map(|mirror| mirror.shown_open).sum();
    if open > 0 {
        let open = counted(open, "record");
        parts.push(format!("{open} of a mirror may yet be committed or aborted in its source"));
    }
    let unreadable: u64 = told.pairs.iter().map(Pair::unreadable).sum();
    if unreadable > 0 {
        parts.push(format!("{} may stand in bytes that cannot be read", counted(unreadable, "record")));
    }
    let unsure: u64 = of_mirrors().map(|mirror| mirror.removed_unsure).sum();
    if unsure > 0 {
        parts.push(format!("whether a cleaner took {} cannot be told", counted(unsure, "record")));
    }
    parts.join(", ")
}

fn show(page: &mut Page, pair: &Pair) {
    page.paragraph(0, &format!("{} — {}", place(&pair.a), place(&pair.b)));
    page.item(2, &state(pair));
    for (name, side) in [("a", &pair.a), ("b", &pair.b)] {
        page.item(2, &side_line(name, side));
    }
    if let Some(mirror) = &pair.mirror {
        mirror_lines(page, pair, mirror);
    }
    ranges(page, "only in a", &pair.only_a);
    ranges(page, "only in b", &pair.only_b);
    ranges(page, "different", &pair.different);
    if pair.ranges_omitted > 0 {
        page.paragraph(2, &format!("… and {} more stretches", number(pair.ranges_omitted)));
    }
    for (name, lacks) in [("a", pair.lacks_a), ("b", pair.lacks_b)] {
        if lacks.cleaned > 0 {
            page.item(
                2,
                &format!("{name} lacks {} where its cleaner has been", counted(lacks.cleaned, "record")),
            );
        }
        if lacks.unreadable > 0 {
            page.item(
                2,
                &format!("{name} lacks {} where bytes cannot be read", counted(lacks.unreadable, "record")),
            );
        }
    }
    if let Some(part) = &pair.leader_epochs_part_at {
        page.item(
            2,
            &format!(
                "leader epochs part at epoch {}, which begins at offset {}",
                part.epoch, part.start_offset
            ),
        );
    }
    for snapshot in pair.snapshots.iter().take(SHOWN) {
        let what = if let Some(why) = &snapshot.unreadable {
            format!("cannot be read: {}", escaped(why))
        } else {
            let ids = &snapshot.producer_ids;
            let first: Vec<_> = ids.iter().take(SHOWN).map(i64::to_string).collect();
            let more = ids.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let noun = if ids.len() == 1 { "producer" } else { "producers" };
            format!("differs in {noun} {}{more}", first.join(", "))
        };
        page.item(2, &format!("{} {what}", named(&snapshot.file)));
    }
    records(page, pair);
}

fn place(side: &Side) -> String {
    let broker = side.broker_id.map_or_else(String::new, |id| format!(" (broker {id})"));
    format!("{}{broker}", escaped(&side.directory))
}

fn state(pair: &Pair) -> String {
    if let Some(mirror) = &pair.mirror {
        let equal = match (pair.equal, pair.nothing_compared, mirror.unmatched + mirror.untold()) {
            (false, ..) => "the mirror differs",
            (true, true, _) => "nothing could be matched",
            (true, false, 0) => "the mirror holds what the source holds",
            (true, false, _) => "the mirror holds what the source holds, as far as could be told",
        };
        return format!("matched by {}: {equal}", named(&pair.matched_by));
    }
    if pair.nothing_compared {
        let [a, b] = [&pair.a, &pair.b].map(offset_range);
        return format!("nothing to compare: a holds {a}, b holds {b}");
    }
    let up_to = pair.equal_up_to.unwrap_or(0);
    if let (Some(stopped), None) = (pair.stopped_at, pair.first_difference) {
        return format!("equal below offset {up_to}; not compared from offset {stopped} on");
    }
    match (pair.first_difference, pair.equal, pair.compaction_only) {
        (Some(first), ..) => format!("equal below offset {up_to}; the first difference is at {first}"),
        (None, false, _) => format!("equal below offset {up_to}; one of them goes on behind it"),
        (None, true, true) => format!("equal below offset {up_to}, but for what compaction took"),
        (None, true, false) if pair.unreadable() > 0 => {
            format!("equal below offset {up_to}, but for what cannot be read")
        }
        (None, true, false) => format!("equal below offset {up_to}"),
    }
}

fn offset_range(side: &Side) -> String {
    match side.log_end_offset.checked_sub(1).filter(|last| *last >= side.log_start_offset) {
        Some(last) => offsets(side.log_start_offset, last),
        None => "no offset".to_owned(),
    }
}

fn side_line(name: &str, side: &Side) -> String {
    let (first, end) = (side.log_start_offset, side.log_end_offset);
    let mut parts =
        vec![if end > first { offsets(first, end - 1) } else { format!("no offset, the next one is {end}") }];
    let held = counted(side.records, "record");
    // The first batch of a log may begin below the log's start.
    let is_more = u64::try_from(end.saturating_sub(first)).is_ok_and(|offsets| side.records > offsets);
    parts.push(if is_more { format!("{held} with those below it that are not deleted yet") } else { held });
    for (what, offset) in [
        ("high watermark", side.high_watermark),
        ("recovery point", side.recovery_point),
        ("cleaned up to", side.cleaned_up_to),
    ] {
        parts.extend(offset.map(|offset| format!("{what} {offset}")));
    }
    if !side.leader_epochs.is_empty() {
        parts.push(format!("leader epochs {}", epochs(&side.leader_epochs)));
    }
    format!("{name}: {}", parts.join(", "))
}

fn epochs(epochs: &[LeaderEpochStart]) -> String {
    let skipped = epochs.len().saturating_sub(SHOWN);
    let shown: Vec<_> = epochs
        .iter()
        .skip(skipped)
        .map(|start| format!("{} from {}", start.epoch, start.start_offset))
        .collect();
    let before = if skipped > 0 { "… ".to_owned() } else { String::new() };
    format!("{before}{}", shown.join(", "))
}

fn mirror_lines(page: &mut Page, pair: &Pair, mirror: &Mirror) {
    let of_them = |withheld: u64| match withheld {
        0 => String::new(),
        withheld => format!(" ({} of them aborted or open)", number(withheld)),
    };
    let other_partition = match mirror.other_partition {
        0 => String::new(),
        other => format!("{} of another partition, ", number(other)),
    };
    page.item(
        2,
        &format!(
            "{} matched, {} missing{}, {} extra, {}{} repeated{}",
            number(mirror.matched),
            number(mirror.missing),
            of_them(mirror.missing_withheld),
            number(mirror.extra),
            other_partition,
            number(mirror.repeated),
            of_them(mirror.surplus_withheld)
        ),
    );
    if mirror.missing_other_partition > 0 {
        let elsewhere = number(mirror.missing_other_partition);
        page.item(2, &format!("{elsewhere} of the missing ones the mirror holds in another partition"));
    }
    if mirror.repartitioned && mirror.missing_other_partition + mirror.other_partition_moved > 0 {
        page.item(2, "the topics have other partitions: what stands in another one is no difference");
    }
    if mirror.other_order > 0 {
        let (other, stand) =
            (number(mirror.other_order), if mirror.other_order == 1 { "stands" } else { "stand" });
        let said = format!(
            "{other} of the matched ones {stand} in the mirror before an older one of the same record key"
        );
        page.item(2, &said);
    }
    if mirror.other_newest > 0 {
        let said = match mirror.other_newest {
            1 => "1 record key has another newest value in the mirror".to_owned(),
            keys => format!("{} record keys have another newest value in the mirror", number(keys)),
        };
        page.item(2, &said);
    }
    if mirror.other_content > 0 {
        let (differ, what) =
            (if mirror.other_content == 1 { "differs" } else { "differ" }, other_content(pair));
        let other = number(mirror.other_content);
        page.item(2, &format!("{other} of the matched ones {differ} in {what}, which does not count"));
    }
    let more = |shown| match shown {
        1 => "1 more in the mirror is".to_owned(),
        shown => format!("{} more in the mirror are", number(shown)),
    };
    if mirror.shown_aborted > 0 {
        let shown = more(mirror.shown_aborted);
        let said =
            format!("{shown} aborted in the source: who reads what is committed gets nothing of that there");
        page.item(2, &said);
    }
    if mirror.shown_open > 0 {
        let shown = number(mirror.shown_open);
        let said =
            format!("{shown} more in the mirror are in open transactions of the source: not decided yet");
        page.item(2, &said);
    }
    for (what, removed, where_to) in [
        ("missing", mirror.missing_removed, "mirror"),
        ("extra", mirror.extra_removed, "source"),
        ("repeated", mirror.repeated_removed, "source"),
        ("aborted", mirror.shown_aborted_removed, "source"),
    ] {
        if removed > 0 {
            let removed = number(removed);
            let said = format!(
                "{removed} of the {what} ones the {where_to} may have held before retention or compaction"
            );
            page.item(2, &said);
        }
    }
    for (what, unreadable, where_to) in
        [("missing", mirror.missing_unreadable, "mirror"), ("surplus", mirror.surplus_unreadable, "source")]
    {
        if unreadable > 0 {
            let unreadable = number(unreadable);
            let said = format!(
                "{unreadable} of the {what} ones may stand where bytes of the {where_to} cannot be read"
            );
            page.item(2, &said);
        }
    }
    if mirror.removed_unsure > 0 {
        let said = format!(
            "{} of those that may have been removed a cleaner would keep, as far as was read",
            number(mirror.removed_unsure)
        );
        page.item(2, &said);
    }
    if mirror.unmatched > 0 {
        let (have, can) = if mirror.unmatched == 1 { ("has", "it") } else { ("have", "they") };
        let unmatched = counted(mirror.unmatched, "record");
        page.item(2, &format!("{unmatched} {have} no key, or {can} cannot be decoded"));
    }
    for one in mirror.mapping.iter().take(SHOWN) {
        let last_b = one.first_b.saturating_add(one.last_a.saturating_sub(one.first_a));
        page.item(
            2,
            &format!(
                "{} {} at {}: {}",
                offsets(one.first_a, one.last_a),
                if one.first_a == one.last_a { "stands" } else { "stand" },
                range(one.first_b, last_b),
                counted(one.records, "record")
            ),
        );
    }
    let more = (mirror.mapping.len().saturating_sub(SHOWN) as u64).saturating_add(mirror.mapping_omitted);
    if more > 0 {
        page.paragraph(2, &format!("… and {} more stretches", number(more)));
    }
}

fn ranges(page: &mut Page, label: &str, ranges: &[Range]) {
    for range in ranges.iter().take(SHOWN) {
        let offsets = offsets(range.first_offset, range.last_offset);
        let epochs = match range.leader_epochs {
            Some([one, other]) if one == other => format!(", leader epoch {one}"),
            Some([one, other]) => format!(", leader epochs {one}–{other}"),
            None => String::new(),
        };
        page.item(
            2,
            &format!(
                "{label}: {offsets}, {}, {}{epochs}",
                counted(range.records, "record"),
                named(&range.what)
            ),
        );
    }
    let more = ranges.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        page.paragraph(2, &format!("… and {} more stretches", number(more)));
    }
}

fn records(page: &mut Page, pair: &Pair) {
    let zone = page.zone().clone();
    for one in pair.records.iter().take(SHOWN) {
        let copy = &one.copy;
        let writer = copy.session.as_ref().map_or_else(
            || "without producer id".to_owned(),
            |session| format!("session {}", named(session)),
        );
        let seen = match copy.visibility {
            Visibility::Aborted | Visibility::Open => format!(", {}", copy.visibility),
            _ => String::new(),
        };
        let key = Terminal::text(&business_key(&one.business_key)).cut(KEY_COLUMNS).to_string();
        page.item(
            4,
            &format!(
                "{key}  {} offset {}, {writer}, {}{seen}",
                escaped(&copy.directory),
                copy.offset,
                zone.labelled_span(copy.timestamp, None)
            ),
        );
    }
    let more = pair.records.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        page.paragraph(4, &format!("… and {} more in the JSON", counted(more, "record")));
    }
}
