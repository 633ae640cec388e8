//! How much of what was given was read, in a few words and in a sentence.
//!
//! Goes in: the coverage, and how the run ended. Comes out: the one case that holds, and what all forms say of
//! it. The numbers beside it tell apart what a reader would add up otherwise: replicas hold the same records once
//! more, and topics of Kafka's own hold nobody's events.

use super::answer::Reading;
use super::model::{Coverage, Part};
use super::wording::{absent, counted, listed, number, opening, uncompared};

/// What is said of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowRead {
    /// Somebody stopped it.
    Interrupted,
    /// All of it, but for what a log that was not closed ends with.
    ButForTails,
    /// All of the files that were named; others lie beside them.
    AllThatWasNamed,
    /// All of the partitions that were given; topics have others.
    AllThatWasGiven,
    /// All of it.
    Whole,
    /// Some records could not be read.
    Partly,
    /// All records, in spite of damage.
    InSpiteOfDamage,
    /// All records, and something about them could not be judged.
    NotJudged,
}

impl HowRead {
    /// The case that holds.
    #[must_use]
    pub fn of(coverage: &Coverage, reading: Reading) -> Self {
        match reading {
            Reading::Interrupted => Self::Interrupted,
            Reading::Whole if coverage.damage.iter().any(|damage| damage.expected) => Self::ButForTails,
            Reading::Whole if coverage.segments_not_named > 0 => Self::AllThatWasNamed,
            Reading::Whole if !coverage.absent_partitions.is_empty() => Self::AllThatWasGiven,
            Reading::Whole => Self::Whole,
            Reading::Partial if !coverage.is_whole() => Self::Partly,
            Reading::Partial if coverage.unexpected().next().is_some() => Self::InSpiteOfDamage,
            Reading::Partial => Self::NotJudged,
        }
    }

    /// Behind the numbers.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted, not everything was read",
            Self::ButForTails => "everything was read, but for the end of a log that was not closed",
            Self::AllThatWasNamed => "all that was named was read",
            Self::AllThatWasGiven => "everything that was given was read",
            Self::Whole => "everything was read",
            Self::Partly => "not everything could be read",
            Self::InSpiteOfDamage => "every record could be read in spite of the damage",
            Self::NotJudged => "everything was read, not everything could be judged",
        }
    }

    /// Whether the numbers are all that there is to be known.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::ButForTails | Self::AllThatWasNamed | Self::Whole)
    }

    /// The sentence of a verdict, with the numbers.
    #[must_use]
    pub fn sentence(self, coverage: &Coverage) -> String {
        let read = amount(coverage);
        let of_these = match self {
            Self::Interrupted => {
                format!("The run was interrupted after {read}: all numbers are lower bounds.")
            }
            Self::Partly => {
                let why = missing(coverage);
                let why = if why.is_empty() { "see the notes".to_owned() } else { listed(&why) };
                format!("Not everything could be read ({why}): all numbers are lower bounds. Read: {read}.")
            }
            Self::NotJudged => {
                format!("Everything was read, but not everything could be judged (see the notes): {read}.")
            }
            Self::ButForTails
            | Self::AllThatWasNamed
            | Self::AllThatWasGiven
            | Self::Whole
            | Self::InSpiteOfDamage => {
                format!("{}: {read}.", opening(self.words(), &[]))
            }
        };
        match absent(coverage) {
            Some(absent) => {
                format!("{of_these} {}: all counts are lower bounds.", opening(&absent, &[]))
            }
            None => of_these,
        }
    }
}

/// What could not be read.
fn missing(coverage: &Coverage) -> Vec<String> {
    let unreadable = coverage.unexpected().filter(|one| one.is_unreadable()).count() as u64;
    let damaged = coverage.unexpected().filter(|one| !one.is_unreadable()).count() as u64;
    let damaged = damaged.saturating_add(coverage.damage_omitted);
    let mut why = Vec::new();
    if unreadable > 0 {
        why.push(format!("{} that could not be opened or read", counted(unreadable, "place")));
    }
    if damaged > 0 {
        why.push(format!("{} of damage", counted(damaged, "place")));
    }
    why.extend(uncompared(coverage));
    why
}

/// `1 partition, 1 segment, 80 batches, 80 records`.
#[must_use]
pub fn amount(coverage: &Coverage) -> String {
    let segments = match coverage.segments_not_named {
        0 => counted(coverage.segments, "segment"),
        beside => {
            let all = counted(coverage.segments.saturating_add(beside), "segment");
            format!("{} of {all}", number(coverage.segments))
        }
    };
    let all = [
        counted(coverage.partitions, "partition"),
        segments,
        counted(coverage.batches, "batch"),
        counted(coverage.records, "record"),
    ];
    format!("{}{}", all.join(", "), apart(coverage))
}

/// ` (of the records 61 in 2 partitions, 120 in 4 replicas that do not lead, 139 in 1 partition of Kafka's own
/// topics)`, where not all records are of events that count.
fn apart(coverage: &Coverage) -> String {
    let Coverage { replicas, internal_topics, .. } = coverage;
    let beside = |of: fn(&Part) -> u64| of(replicas).saturating_add(of(internal_topics));
    if beside(|part| part.partitions) == 0 {
        return String::new();
    }
    let own = Part {
        partitions: coverage.partitions.saturating_sub(beside(|part| part.partitions)),
        records: coverage.records.saturating_sub(beside(|part| part.records)),
    };
    let mut parts = vec![format!("{} in {}", number(own.records), counted(own.partitions, "partition"))];
    if replicas.partitions > 0 {
        let what = if replicas.partitions == 1 { "replica that does" } else { "replicas that do" };
        parts.push(format!(
            "{} in {} {what} not lead",
            number(replicas.records),
            number(replicas.partitions)
        ));
    }
    if internal_topics.partitions > 0 {
        let partitions = counted(internal_topics.partitions, "partition");
        parts.push(format!("{} in {partitions} of Kafka's own topics", number(internal_topics.records)));
    }
    format!(" (of the records {})", listed(&parts))
}

/// Whether the replicas hold what the leading ones hold; nothing where there are none, or they were not compared.
#[must_use]
pub fn agreement(coverage: &Coverage) -> Option<String> {
    let (compared, agreeing) = (coverage.replicas_compared?, coverage.replicas_agreeing?);
    let all = coverage.replicas.partitions.max(compared);
    if all == 0 {
        return None;
    }
    let of = "the one that leads its partition, as far as it reaches";
    let uncompared = match all.saturating_sub(compared) {
        0 => String::new(),
        rest => format!("; {} not compared", number(rest)),
    };
    Some(match (agreeing == compared, compared) {
        (_, 0) => format!("{} not compared", counted(all, "replica")),
        (true, 1) => format!("the replica that does not lead agrees with {of}{uncompared}"),
        (true, _) => {
            format!("each of {} replicas that do not lead agrees with {of}{uncompared}", number(compared))
        }
        (false, _) => format!(
            "{} of {} that do not lead agree with {of} (see the findings about replicas){uncompared}",
            number(agreeing),
            counted(compared, "replica")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::DamageReport;

    fn coverage() -> Coverage {
        Coverage { partitions: 7, segments: 7, batches: 60, records: 320, ..Coverage::default() }
    }

    #[test]
    fn replicas_and_topics_of_kafkas_own_are_told_apart() {
        let plain = coverage();
        assert_eq!(amount(&plain), "7 partitions, 7 segments, 60 batches, 320 records");
        let apart = Coverage {
            replicas: Part { partitions: 4, records: 120 },
            internal_topics: Part { partitions: 1, records: 139 },
            ..coverage()
        };
        assert!(
            amount(&apart).ends_with(
                "320 records (of the records 61 in 2 partitions, 120 in 4 replicas that do not lead and 139 in \
                 1 partition of Kafka's own topics)"
            ),
            "{}",
            amount(&apart)
        );
    }

    #[test]
    fn replicas_are_said_to_agree_only_where_they_were_compared() {
        let of = |compared, agreeing| {
            agreement(&Coverage {
                replicas: Part { partitions: 4, records: 120 },
                replicas_compared: compared,
                replicas_agreeing: agreeing,
                ..coverage()
            })
        };
        assert_eq!(of(None, None), None);
        assert!(of(Some(4), Some(4)).unwrap().starts_with("each of 4 replicas that do not lead agrees"));
        assert!(of(Some(4), Some(3)).unwrap().starts_with("3 of 4 replicas that do not lead agree with"));
        assert!(of(Some(3), Some(3)).unwrap().ends_with("; 1 not compared"));
        assert_eq!(of(Some(0), Some(0)).unwrap(), "4 replicas not compared");
    }

    #[test]
    fn the_short_and_the_long_form_are_of_one_case() {
        let damage = |records_missing, expected| DamageReport {
            kind: "bad-crc".to_owned(),
            records_missing: Some(records_missing),
            expected,
            ..DamageReport::default()
        };
        let with = |damage: Vec<DamageReport>| Coverage { damage, ..coverage() };
        for (coverage, reading, case, begins) in [
            (with(vec![]), Reading::Whole, HowRead::Whole, "Everything was read: 7"),
            (with(vec![]), Reading::Interrupted, HowRead::Interrupted, "The run was interrupted"),
            (
                with(vec![damage(true, true)]),
                Reading::Whole,
                HowRead::ButForTails,
                "Everything was read, but for",
            ),
            (
                with(vec![damage(true, false)]),
                Reading::Partial,
                HowRead::Partly,
                "Not everything could be read (1 place of damage)",
            ),
            (
                with(vec![damage(false, false)]),
                Reading::Partial,
                HowRead::InSpiteOfDamage,
                "Every record could be read",
            ),
            (
                with(vec![]),
                Reading::Partial,
                HowRead::NotJudged,
                "Everything was read, but not everything could",
            ),
        ] {
            let told = HowRead::of(&coverage, reading);
            assert_eq!(told, case);
            let sentence = told.sentence(&coverage);
            assert!(sentence.starts_with(begins), "{sentence}");
            assert_eq!(told.is_whole(), reading == Reading::Whole);
        }
    }
}
