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
/// The same where two fields name an event together: a lamp that goes on and off comes back to each of both.
const PAIRS_ONCE: u64 = 75;
/// Of 100 pairs, in how many the fields of one event agree: of an amount that two events share by chance, one other
/// field in ten agrees as well.
const AGREES: u64 = 95;
/// Of 100 pairs, in how many two names for one thing agree.
const GO_TOGETHER: u64 = 90;
/// Of 100 steps from one record of a writer to its next, in how many a field stays that tells of the writer, or of the
/// time, and not of the event.
const STAYS: u64 = 90;
/// Of 100 repeats, how many come in stretches or at once where this alone speaks for the field.
const IN_ORDER: u64 = 80;
/// Repeats below which their order says nothing.
const FEW: u64 = 3;
/// Pairs of fields that are looked at.
const PAIRS: usize = 8;

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
    /// Its values come again as drawn blindly from a population.
    Drawn,
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
    let topic = Topic::of(fields, records, with_value);
    // Of two names for one thing the one that is no number: an amount may be as distinct as an id.
    let mut candidates: Vec<(bool, Candidate)> = (0..)
        .zip(fields)
        .filter_map(|(at, field)| {
            let is_number = field.key.parts().iter().any(|part| topic.is_number(part));
            Some((is_number, topic.candidate(at)?))
        })
        .collect();
    if candidates.iter().any(|(_, one)| one.suggested && one.key.parts().len() == 1) {
        for (_, one) in &mut candidates {
            one.suggested &= one.key.parts().len() == 1;
        }
    }
    // Pairs that say nothing would only hide fields.
    candidates.retain(|(_, one)| one.suggested || one.key.parts().len() == 1);
    candidates.sort_by(|a, b| {
        let rank = |(is_number, one): &(bool, Candidate)| {
            (std::cmp::Reverse(one.score), *is_number, one.key.to_string())
        };
        rank(a).cmp(&rank(b))
    });
    candidates.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Pairs of fields that may name events together: none where a single field does. The first of a pair names something
/// that several events share, the second tells them apart.
pub(super) fn pairs(fields: &[Field], records: u64, with_value: u64) -> Vec<[KeyPart; 2]> {
    let topic = Topic::of(fields, records, with_value);
    let kinds: Vec<Kind> = topic.kinds();
    if (0..fields.len()).any(|at| topic.is_suggested(at)) {
        return Vec::new();
    }
    let mut pairs = Vec::new();
    for (at, (field, kind)) in fields.iter().zip(&kinds).enumerate() {
        let shared = matches!(kind, Kind::Contradicted(_) | Kind::Entity | Kind::Drawn);
        let [part] = field.key.parts() else { continue };
        if !shared || field.masked || field.is_value() || field.pairs == 0 {
            continue;
        }
        for (other_at, (other, kind)) in fields.iter().zip(&kinds).enumerate() {
            let [other_part] = other.key.parts() else { continue };
            let apart = field.agreement.get(other_at).is_some_and(|agreement| {
                agreement.both * 100 >= field.pairs * COVERAGE && !agrees(*agreement, AGREES)
            });
            let tells = match kind {
                Kind::Contradicted(_) | Kind::Entity | Kind::Drawn | Kind::Unclear => {
                    topic.distinct(other_at) <= topic.distinct(at)
                }
                Kind::Constant
                | Kind::Time
                | Kind::Measure
                | Kind::Sparse
                | Kind::NeverRepeats
                | Kind::Event(_) => false,
            };
            let tells = tells && apart && topic.takes_turns(at, other_at);
            if at != other_at && tells && !other.masked && !other.is_value() {
                let rank = (topic.is_number(part), std::cmp::Reverse(topic.distinct(at)));
                pairs.push((rank, topic.distinct(other_at), [part.clone(), other_part.clone()]));
            }
        }
    }
    pairs.sort_by(|a, b| {
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| {
            let names = |pair: &[KeyPart; 2]| pair.each_ref().map(ToString::to_string);
            names(&a.2).cmp(&names(&b.2))
        })
    });
    pairs.into_iter().map(|(_, _, pair)| pair).take(PAIRS).collect()
}

struct Topic<'f> {
    fields: &'f [Field],
    repeats: Vec<Repeats>,
    records: u64,
    with_value: u64,
    record_key: Option<usize>,
}

impl<'f> Topic<'f> {
    fn of(fields: &'f [Field], records: u64, with_value: u64) -> Self {
        let is_record_key = |field: &Field| matches!(field.key.parts(), [KeyPart::RecordKey]);
        Self {
            fields,
            repeats: fields.iter().map(Field::repeats).collect(),
            records,
            with_value,
            record_key: fields.iter().position(is_record_key),
        }
    }

    fn kinds(&self) -> Vec<Kind> {
        let each = self.fields.iter().zip(&self.repeats).enumerate();
        each.map(|(at, (field, repeats))| self.kind(at, field, *repeats)).collect()
    }

    fn is_suggested(&self, at: usize) -> bool {
        let (Some(field), Some(repeats)) = (self.fields.get(at), self.repeats.get(at)) else { return false };
        matches!(self.kind(at, field, *repeats), Kind::Event(_)) && !field.is_value() && !self.has_finer(at)
    }

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
            key: field.key.clone(),
            counts,
            score: self.score(field, &kind, repeats),
            suggested: self.is_suggested(at),
            goes_with_record_key: self.record_key.is_some_and(|key| key != at && self.go_together(key, at)),
            examples: field.examples(),
            why: self.why(field, &kind, counts),
        })
    }

    /// Records that could have the field.
    fn possible(&self, field: &Field) -> u64 {
        let of_value = |part: &KeyPart| matches!(part, KeyPart::Json(_) | KeyPart::Value);
        if field.key.parts().iter().any(of_value) { self.with_value } else { self.records }
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
        if field.covered * 100 < self.possible(field) * COVERAGE {
            return Kind::Sparse;
        }
        if again == 0 {
            return Kind::NeverRepeats;
        }
        if repeats.distinct * 100 < repeats.followed * MOSTLY_ONCE {
            return Kind::Entity;
        }
        if repeats.order.is_of_a_draw(repeats.multiplicities) {
            return Kind::Drawn;
        }
        let is_pair = field.key.parts().len() > 1;
        if is_pair && !self.is_told_together(field, repeats, again) {
            return Kind::Unclear;
        }
        match self.others(at, field) {
            Others::Differ(other) => Kind::Contradicted(other),
            Others::Agree => Kind::Event(Sign::Agree),
            // Nothing else tells these records apart: the order of the repeats has to.
            Others::Silent if again >= FEW && repeats.distinct * 100 >= repeats.followed * NEARLY_ONCE => {
                if repeats.order.in_stretch_percent() >= IN_ORDER {
                    Kind::Event(Sign::Stretch)
                } else if repeats.order.soon_percent() >= IN_ORDER {
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
            let is_part = |part: &KeyPart| field.key.parts().contains(part);
            let [other_part] = other.key.parts() else { continue };
            if other_at == at || is_part(other_part) || other.is_value() || agreement.both * 2 < field.pairs {
                continue;
            }
            let tells_apart =
                repeats.distinct * 100 >= repeats.followed * TELLS_APART && repeats.distinct > 3;
            // What happened, a page or a status, is told in few words, and differs from one event to the next.
            let tells_neighbours_apart = other.neighbours.both > 0 && !agrees(other.neighbours, STAYS);
            // Of two names for one thing neither says anything of the other.
            if !(tells_apart || tells_neighbours_apart) || self.go_together(at, other_at) {
                continue;
            }
            let is_time = other.times * 100 >= other.covered * 95;
            // What is different in every record may be a nonce or a number of the attempt.
            let never_repeats = repeats.followed == repeats.distinct;
            if agrees(*agreement, AGREES) {
                agree |= tells_apart;
            } else if !is_time && !never_repeats && !other.masked && !other.is_of_a_process() {
                return Others::Differ(other_part.clone());
            }
        }
        if agree { Others::Agree } else { Others::Silent }
    }

    /// Whether a pair came again as copies do, and not as two fields that happen to be as they were: what shares the one
    /// hardly ever shares the other, and the repeats stand in an order.
    fn is_told_together(&self, field: &Field, repeats: Repeats, again: u64) -> bool {
        let [one, other] = field.key.parts() else { return false };
        let (Some(one), Some(other)) = (self.place(one), self.place(other)) else { return false };
        let in_order = repeats.order.in_stretch_percent().max(repeats.order.soon_percent()) >= IN_ORDER;
        let stand_alone = repeats.distinct * 100 >= repeats.followed * PAIRS_ONCE;
        again >= FEW && stand_alone && in_order && self.takes_turns(one, other)
    }

    /// Where a single field stands.
    fn place(&self, part: &KeyPart) -> Option<usize> {
        self.fields.iter().position(|field| field.key.parts() == std::slice::from_ref(part))
    }

    /// Whether a single field is a number, as ids may be, and amounts.
    fn is_number(&self, part: &KeyPart) -> bool {
        let field = self.place(part).and_then(|at| self.fields.get(at));
        field.is_some_and(|field| field.numbers * 2 > field.covered)
    }

    /// Whether records that share the one agree in the other at most half as often as any two records do.
    fn takes_turns(&self, one: usize, other: usize) -> bool {
        let agreement = self.fields.get(one).and_then(|field| field.agreement.get(other));
        let (Some(agreement), Some(field), Some(repeats)) =
            (agreement, self.fields.get(other), self.repeats.get(other))
        else {
            return false;
        };
        let equal = u128::from(agreement.equal) * 1_000_000 / u128::from(agreement.both.max(1));
        equal * 2 <= field.equal_by_chance(*repeats)
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
            agreement.is_some_and(|agreement| agrees(*agreement, GO_TOGETHER))
        };
        let (one_has, other_has) = (self.distinct(one), self.distinct(other));
        let (fewer, more) = (one_has.min(other_has), one_has.max(other_has));
        decides(one, other) && decides(other, one) && fewer * 100 >= more * GO_TOGETHER
    }

    /// Whether a field that goes with this one tells more events apart.
    fn has_finer(&self, at: usize) -> bool {
        let is_name = |field: &Field| {
            field.key.parts().len() == 1 && !field.is_value() && field.times * 2 < field.covered
        };
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
        let coverage = percent(field.covered, self.possible(field)).min(100);
        let once = percent(repeats.distinct, repeats.followed);
        // From what finds copies for sure down to what names nothing.
        let (from, up_to, within) = match kind {
            Kind::Event(Sign::Agree) => (80, 100, once),
            Kind::Event(Sign::Stretch) => (70, 90, once),
            Kind::Event(Sign::Soon) => (60, 80, once),
            Kind::Unclear => (40, 55, once),
            Kind::NeverRepeats => (30, 40, coverage),
            Kind::Contradicted(_) => (15, 30, once),
            Kind::Entity | Kind::Drawn => (5, 15, once),
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
            Kind::Sparse => format!("only {} of {} records have it", field.covered, self.possible(field)),
            Kind::NeverRepeats => {
                format!(
                    "all {followed} values are different: it names every record, or is a nonce, and finds nothing"
                )
            }
            Kind::Entity => format!("{of}: it names something that many events share"),
            Kind::Drawn => {
                format!(
                    "{of}, here and there, some of them several times: it names something that comes again, and not copies"
                )
            }
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

const fn agrees(agreement: Agreement, percent: u64) -> bool {
    agreement.both > 0 && agreement.equal * 100 >= agreement.both * percent
}
