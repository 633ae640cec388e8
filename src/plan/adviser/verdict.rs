//! What each field would find, and whether it may be suggested.

use super::field::{Agreement, Field, Repeats};
use crate::finding::BusinessKey;
use crate::keys::{KeyPart, KeySpec};

/// Of 100 records with a value, how many must have a field that is suggested.
const COVERAGE: u64 = 90;
/// Of 100 values, how many stand once where an event is named: a whole topic that was written twice
/// has 50.
const MOSTLY_ONCE: u64 = 40;
/// The same where nothing but the order of the repeats speaks for the field.
const NEARLY_ONCE: u64 = 60;
/// Of 100 values of a field that tells records apart, how many are different at least.
const TELLS_APART: u64 = 10;
/// Of 100 pairs, in how many the fields of one event agree.
const AGREES: u64 = 90;
/// Of 100 repeats, how many come in stretches or at once where this alone speaks for the field.
const IN_ORDER: u64 = 80;
/// Repeats below which their order says nothing.
const FEW: u64 = 3;

/// A field, and what it would find as a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The key.
    pub key: KeySpec,
    /// How often it is there and repeats.
    pub counts: Counts,
    /// From 0 to 100: how well it names events.
    pub score: u8,
    /// Whether it may be suggested.
    pub suggested: bool,
    /// Whether it and the record key always go together.
    pub goes_with_record_key: bool,
    /// Values, those that repeat first.
    pub examples: Vec<BusinessKey>,
    /// Why, in a sentence without a full stop.
    pub why: String,
}

/// How often a field is there and repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that have it.
    pub covered: u64,
    /// Of these, the records whose values were followed.
    pub followed: u64,
    /// Different values among those that were followed.
    pub distinct: u64,
    /// Records that repeat a value with the first or the latest content that it had.
    pub same_content: u64,
    /// Records that repeat a value with other content.
    pub other_content: u64,
}

/// What a field is, as far as its values tell.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Constant,
    Time,
    /// A number with a fraction.
    Measure,
    /// Stands in too few records.
    Sparse,
    /// Every value once.
    NeverRepeats,
    /// Most values again and again.
    Entity,
    /// Repeats, and its repeats differ in this field, which tells records apart.
    Contradicted(KeyPart),
    /// Repeats, and nothing tells whether these are copies.
    Unclear,
    Event(Sign),
}

/// Why the repeats are copies of events.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sign {
    /// They agree in all fields that tell records apart.
    Agree,
    /// A stretch of them came again in its order.
    Stretch,
    /// They stand soon behind what they repeat.
    Soon,
}

/// All fields, those that name events best first.
pub(super) fn candidates(fields: &[Field], records: u64, with_value: u64) -> Vec<Candidate> {
    let topic = Topic {
        fields,
        repeats: fields.iter().map(Field::repeats).collect(),
        records,
        with_value,
        record_key: fields.iter().position(|field| field.part == KeyPart::RecordKey),
    };
    let mut candidates: Vec<Candidate> = (0..fields.len()).filter_map(|at| topic.candidate(at)).collect();
    candidates.sort_by(|a, b| {
        let rank = |one: &Candidate| (std::cmp::Reverse(one.score), one.key.to_string());
        rank(a).cmp(&rank(b))
    });
    candidates
}

struct Topic<'f> {
    fields: &'f [Field],
    repeats: Vec<Repeats>,
    records: u64,
    with_value: u64,
    record_key: Option<usize>,
}

impl Topic<'_> {
    fn candidate(&self, at: usize) -> Option<Candidate> {
        let field = self.fields.get(at)?;
        let repeats = *self.repeats.get(at)?;
        let kind = self.kind(at, field, repeats);
        let counts = Counts {
            covered: field.covered,
            followed: repeats.followed,
            distinct: repeats.distinct,
            same_content: repeats.same_content,
            other_content: repeats.other_content,
        };
        Some(Candidate {
            key: KeySpec::of(field.part.clone()),
            counts,
            score: self.score(field, &kind, repeats),
            suggested: matches!(kind, Kind::Event(_)) && field.part != KeyPart::Value && !self.has_finer(at),
            goes_with_record_key: self.record_key.is_some_and(|key| key != at && self.go_together(key, at)),
            examples: field.examples(),
            why: self.why(field, &kind, counts),
        })
    }

    /// Records that could have the field.
    const fn of(&self, field: &Field) -> u64 {
        match field.part {
            KeyPart::Json(_) | KeyPart::Value => self.with_value,
            _ => self.records,
        }
    }

    fn kind(&self, at: usize, field: &Field, repeats: Repeats) -> Kind {
        let again = repeats.followed - repeats.distinct;
        if field.times * 100 >= field.covered * 95 {
            return Kind::Time;
        }
        if field.fractions * 2 > field.covered {
            return Kind::Measure;
        }
        if repeats.distinct == 1 && field.covered > 1 {
            return Kind::Constant;
        }
        if field.covered * 100 < self.of(field) * COVERAGE {
            return Kind::Sparse;
        }
        if again == 0 {
            return Kind::NeverRepeats;
        }
        if repeats.distinct * 100 < repeats.followed * MOSTLY_ONCE {
            return Kind::Entity;
        }
        match self.others(at, field) {
            Others::Differ(other) => Kind::Contradicted(other),
            Others::Agree => Kind::Event(Sign::Agree),
            // Nothing else tells these records apart: the order of the repeats has to.
            Others::Silent if again >= FEW && repeats.distinct * 100 >= repeats.followed * NEARLY_ONCE => {
                if repeats.in_stretch_percent >= IN_ORDER {
                    Kind::Event(Sign::Stretch)
                } else if repeats.soon_percent >= IN_ORDER {
                    Kind::Event(Sign::Soon)
                } else {
                    Kind::Unclear
                }
            }
            Others::Silent => Kind::Unclear,
        }
    }

    /// What the other fields say of records that share a value of this one.
    fn others(&self, at: usize, field: &Field) -> Others {
        let mut agree = false;
        for (other_at, agreement) in field.agreement.iter().enumerate() {
            let (Some(other), Some(repeats)) = (self.fields.get(other_at), self.repeats.get(other_at)) else {
                continue;
            };
            if other_at == at || matches!(other.part, KeyPart::Value) || agreement.both * 2 < field.pairs {
                continue;
            }
            let tells_apart =
                repeats.distinct * 100 >= repeats.followed * TELLS_APART && repeats.distinct > 3;
            // Of two names for one thing neither says anything of the other.
            if !tells_apart || self.go_together(at, other_at) {
                continue;
            }
            let is_time = other.times * 100 >= other.covered * 95;
            // What is different in every record may be a nonce or a number of the attempt.
            let never_repeats = repeats.followed == repeats.distinct;
            if agrees(*agreement) {
                agree = true;
            } else if !is_time && !never_repeats {
                return Others::Differ(other.part.clone());
            }
        }
        if agree { Others::Agree } else { Others::Silent }
    }

    /// How many values the field has, as far as those that were followed tell.
    fn distinct(&self, at: usize) -> u64 {
        let (Some(field), Some(repeats)) = (self.fields.get(at), self.repeats.get(at)) else { return 0 };
        repeats.distinct.saturating_mul(field.covered) / repeats.followed.max(1)
    }

    /// Whether two fields are names for one thing: records that share one share the other.
    fn go_together(&self, one: usize, other: usize) -> bool {
        let decides = |one: usize, other: usize| {
            let agreement = self.fields.get(one).and_then(|field| field.agreement.get(other));
            agreement.is_some_and(|agreement| agrees(*agreement))
        };
        let (one_has, other_has) = (self.distinct(one), self.distinct(other));
        let (fewer, more) = (one_has.min(other_has), one_has.max(other_has));
        decides(one, other) && decides(other, one) && fewer * 100 >= more * AGREES
    }

    /// Whether a field that goes with this one tells more events apart.
    fn has_finer(&self, at: usize) -> bool {
        let is_name = |field: &Field| field.part != KeyPart::Value && field.times * 2 < field.covered;
        let finer = |(other, field): (usize, &Field)| {
            other != at
                && is_name(field)
                && self.repeats.get(other).is_some_and(|repeats| repeats.followed > repeats.distinct)
                && self.distinct(other) > self.distinct(at)
                && self.go_together(at, other)
        };
        self.fields.iter().enumerate().any(finer)
    }

    fn score(&self, field: &Field, kind: &Kind, repeats: Repeats) -> u8 {
        let percent = |part: u64, of: u64| part.saturating_mul(100) / of.max(1);
        let coverage = percent(field.covered, self.of(field)).min(100);
        let once = percent(repeats.distinct, repeats.followed);
        // From what finds copies for sure down to what names nothing.
        let (from, up_to, within) = match kind {
            Kind::Event(Sign::Agree) => (80, 100, once),
            Kind::Event(Sign::Stretch) => (70, 90, once),
            Kind::Event(Sign::Soon) => (60, 80, once),
            Kind::Unclear => (40, 55, once),
            Kind::NeverRepeats => (30, 40, coverage),
            Kind::Contradicted(_) => (15, 30, once),
            Kind::Entity => (5, 15, once),
            Kind::Sparse => (0, 10, coverage),
            Kind::Time | Kind::Constant | Kind::Measure => (0, 0, 0),
        };
        let score = (from + (up_to - from) * within / 100) * coverage / 100;
        u8::try_from(score).unwrap_or(100)
    }

    fn why(&self, field: &Field, kind: &Kind, counts: Counts) -> String {
        let Counts { followed, distinct, .. } = counts;
        let again = followed - distinct;
        let repeat = if again == 1 { "repeats" } else { "repeat" };
        let of = if followed == field.covered {
            format!("{again} of {followed} values {repeat} an earlier one")
        } else {
            format!("{again} of the {followed} values that were followed {repeat} an earlier one")
        };
        let differ = if counts.other_content > 0 {
            format!(", {} of them in records that differ elsewhere", counts.other_content)
        } else {
            String::new()
        };
        match kind {
            Kind::Time => "it is a time".to_owned(),
            Kind::Measure => "it is a number with a fraction: something measured or paid".to_owned(),
            Kind::Constant => "it is always the same".to_owned(),
            Kind::Sparse => format!("only {} of {} records have it", field.covered, self.of(field)),
            Kind::NeverRepeats => {
                format!(
                    "all {followed} values are different: it names every record, or is a nonce, and finds nothing"
                )
            }
            Kind::Entity => format!("{of}: it names something that many events share"),
            Kind::Contradicted(other) => {
                format!(
                    "{of}, but records that share one differ in {other}: it may name something that several events share"
                )
            }
            Kind::Unclear => format!("{of}{differ}; nothing tells whether these are copies or other events"),
            Kind::Event(Sign::Agree) => {
                format!(
                    "{of}{differ}; records that share one are equal in every other field that differs between events"
                )
            }
            Kind::Event(Sign::Stretch) => format!("{of}{differ}, whole stretches of them in their old order"),
            Kind::Event(Sign::Soon) => format!("{of}{differ}, and stand soon behind it"),
        }
    }
}

enum Others {
    Agree,
    /// In this one they do not agree.
    Differ(KeyPart),
    /// There is none that would tell.
    Silent,
}

const fn agrees(agreement: Agreement) -> bool {
    agreement.both > 0 && agreement.equal * 100 >= agreement.both * AGREES
}
