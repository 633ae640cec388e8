//! The adviser's run: reads every record of the topics and says which field identifies the event.
//!
//! Goes in: the options of an audit. Comes out: [`Advice`]. Topics are looked at side by side, the
//! partitions of a topic one behind the other, so that repeats are seen wherever they stand and the
//! answer does not depend on the threads. What is kept of a topic stays within its share of the
//! memory ([`Observer`]).

use super::assemble::{coverage_of, tell_keys};
use super::batches::BatchReader;
use super::lanes::{RecordCounts, unreadable_records};
use super::options::AuditOptions;
use super::pass::Subject;
use super::prepare::{Prepared, partition_count, prepare};
use super::watch::Stage;
use crate::error::AuditError;
use crate::format::SegmentItem;
use crate::input::Inventory;
use crate::keys::{Identity, KeySpec, Keyed, Undecoded, identify};
use crate::plan::adviser::{Candidate, Observer};
use crate::plan::{PlanFile, PlannedTopic, TopicPlan};
use crate::report::answer::Reading;
use crate::report::keys::{CandidateReport, KeysReport, TopicKeys, VolatileReport};
use crate::report::model::{Coverage, DamageReport, Note};
use crate::units::FilePosition;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Fields of a topic that are listed, the best first.
const LISTED: usize = 20;
/// Topics that are looked at side by side, at most.
const AT_ONCE: usize = 16;
/// Places of damage that are listed.
const DAMAGE: usize = 100;

/// What the adviser says.
#[derive(Debug)]
pub struct Advice {
    /// What is to be printed.
    pub keys: KeysReport,
    /// What was read.
    pub coverage: Coverage,
    /// The newest time that the records hold.
    pub as_of: Option<i64>,
    /// What was chosen, to be saved.
    pub plan: PlanFile,
    /// How much of it was read.
    pub reading: Reading,
}

/// Looks through the topics that `options` names.
///
/// # Errors
/// [`AuditError`] when the run cannot start.
pub fn advise(options: &AuditOptions) -> Result<Advice, AuditError> {
    super::in_pool(options, |_| {
        let prepared = prepare(options)?;
        let subjects = prepared.subjects(options, None);
        let topics = prepared.topics.all.len();
        // Whatever the threads: how much is kept of a topic decides which values are followed.
        let looked = topics.clamp(1, AT_ONCE);
        let memory = usize::try_from(options.memory.limit / 4).unwrap_or(usize::MAX) / looked;
        options.watch.enter(Stage::Reading);
        options.watch.expect(prepared.inventory.partitions.iter().map(|dir| dir.bytes).sum());
        let look = |topic| (topic, look_at(topic, &prepared, &subjects, options, memory));
        let mut looks: Vec<(usize, Look)> = (0..looked)
            .into_par_iter()
            .flat_map_iter(|lane| (lane..topics).step_by(looked).map(look))
            .collect();
        looks.sort_by_key(|(topic, _)| *topic);
        let looks: Vec<Look> = looks.into_iter().map(|(_, look)| look).collect();
        let mut advice = Advice {
            keys: KeysReport::default(),
            coverage: coverage(&prepared.inventory, &looks),
            as_of: options.as_of.or_else(|| looks.iter().filter_map(|look| look.newest).max()),
            plan: PlanFile::default(),
            reading: Reading::Whole,
        };
        advice.reading = if looks.iter().any(|look| look.interrupted) {
            Reading::Interrupted
        } else {
            let damage = &advice.coverage.damage;
            let expected = damage.iter().all(|damage| damage.expected) && advice.coverage.damage_omitted == 0;
            Reading::of_complete(expected && looks.iter().all(|look| look.notes.is_empty()))
        };
        for ((topic, plan), look) in prepared.topics.all.iter().zip(&prepared.plans).zip(&looks) {
            if plan.internal {
                continue;
            }
            let partition_count = partition_count(options, &prepared.internal, &topic.name);
            advice.keys.topics.push(report(plan, look, partition_count));
            advice.plan.insert(
                &topic.name,
                PlannedTopic { identity: plan.identity.clone(), ignored: plan.mask.clone(), partition_count },
            );
        }
        Ok(advice)
    })
}

/// What was seen of one topic.
#[derive(Default)]
struct Look {
    candidates: Vec<Candidate>,
    batches: u64,
    records: u64,
    counts: RecordCounts,
    control_batches: u64,
    bytes_read: u64,
    damage: Vec<DamageReport>,
    notes: Vec<Note>,
    newest: Option<i64>,
    /// Whether somebody ended the reading before its end.
    interrupted: bool,
}

fn look_at(
    topic: usize,
    prepared: &Prepared,
    subjects: &[Subject<'_>],
    options: &AuditOptions,
    memory: usize,
) -> Look {
    let mut look = Look::default();
    let (Some(topic), Some(plan)) = (prepared.topics.all.get(topic), prepared.plans.get(topic)) else {
        return look;
    };
    if plan.internal {
        return look;
    }
    let mut observer = Observer::new(plan.mask.clone(), memory).with_pairs(plan.pairs.clone());
    let mut reader = BatchReader::new(&prepared.large);
    let led = topic.partitions.iter().filter(|&&at| prepared.leaders.get(at) == Some(&at));
    for subject in led.filter_map(|&at| subjects.get(at)) {
        look.read(subject, &plan.identity, &mut observer, &mut reader, options);
    }
    look.candidates = observer.candidates();
    look
}

impl Look {
    fn read(
        &mut self,
        subject: &Subject<'_>,
        identity: &Identity,
        observer: &mut Observer,
        reader: &mut BatchReader<'_>,
        options: &AuditOptions,
    ) {
        let start = subject.context.log_start_offset;
        for segment in &subject.segments {
            let file = segment.place.path().display().to_string();
            let source = match segment.open(options.mode) {
                Ok(source) => source,
                Err(error) => {
                    self.notes.push(Note::about(file, format!("cannot be read: {error}")));
                    continue;
                }
            };
            let mut scanner = segment.scanner(source, FilePosition(0), None);
            loop {
                let batch = match scanner.next_item() {
                    Ok(Some(SegmentItem::Batch(batch))) => batch,
                    Ok(Some(SegmentItem::Damage(damage))) => {
                        self.damage.push(DamageReport::new(file.clone(), &damage));
                        continue;
                    }
                    Ok(Some(SegmentItem::Suspect(suspect))) => {
                        self.damage.push(DamageReport::new(file.clone(), &suspect.damage));
                        continue;
                    }
                    Ok(None) => break,
                    Err(error) => {
                        self.notes.push(Note::about(file.clone(), format!("cannot be read on: {error}")));
                        break;
                    }
                };
                if options.watch.is_stopped() {
                    self.notes.push(Note::about(file, "interrupted: not read from here on"));
                    self.interrupted = true;
                    return;
                }
                let bytes = u64::try_from(batch.bytes.len()).unwrap_or(0);
                options.watch.read(bytes);
                self.batches += 1;
                self.bytes_read += bytes;
                if batch.header.is_control() {
                    self.control_batches += 1;
                    continue;
                }
                self.newest = self
                    .newest
                    .max(crate::units::Timestamp::from_disk(batch.header.max_timestamp).map(|t| t.0));
                let told = self.counts.total();
                let read = reader.for_each_record(&batch, |record| {
                    self.records += 1;
                    // What lies below the log start no consumer gets.
                    if record.offset >= start {
                        observer.take(batch.header.producer_id, record);
                        self.counts.count(match identity {
                            Identity::Key(spec) => identify(spec, record, |_| {}),
                            Identity::Content => Keyed::Yes,
                        });
                    }
                });
                if let Err(error) = read {
                    let all = u64::from(batch.header.records_count.unwrap_or(0));
                    let told = self.counts.total() - told;
                    self.counts.add_undecoded(Undecoded::UnreadableBatch, all.saturating_sub(told));
                    self.damage.push(DamageReport::new(file.clone(), &unreadable_records(&batch, &error)));
                }
            }
        }
    }
}

fn report(plan: &TopicPlan, look: &Look, partition_count: Option<u32>) -> TopicKeys {
    let candidates: Vec<&Candidate> = look.candidates.iter().collect();
    let listed = candidates.iter().take(LISTED);
    TopicKeys {
        topic: plan.topic.clone(),
        identity: super::assemble::identity(
            plan,
            look.candidates.iter().filter(|candidate| plan.would_add(candidate)),
        ),
        partition_count,
        candidates: listed.map(|candidate| candidate_report(candidate, plan.would_add(candidate))).collect(),
        candidates_omitted: u64::try_from(candidates.len().saturating_sub(LISTED)).unwrap_or(0),
        volatile: plan
            .volatile
            .iter()
            .map(|field| VolatileReport { field: field.name.clone(), why: field.why.to_owned() })
            .collect(),
    }
}

fn candidate_report(candidate: &Candidate, suggested: bool) -> CandidateReport {
    let counts = candidate.counts;
    CandidateReport {
        key: KeySpec::to_string(&candidate.key),
        covered_records: counts.covered,
        followed_records: counts.followed,
        distinct: counts.distinct,
        repeats_same_content: counts.same_content,
        repeats_other_content: counts.other_content,
        score: candidate.score,
        suggested,
        examples: candidate.examples.clone(),
        why: candidate.why.clone(),
    }
}

fn coverage(inventory: &Inventory, looks: &[Look]) -> Coverage {
    let (mut coverage, mut counts) = (coverage_of(inventory), RecordCounts::default());
    for look in looks {
        coverage.batches += look.batches;
        coverage.records += look.records;
        counts.add(look.counts);
        coverage.control_batches += look.control_batches;
        coverage.bytes_read += look.bytes_read;
        coverage.damage.extend(look.damage.iter().cloned());
        coverage.notes.extend(look.notes.iter().cloned());
    }
    coverage.damage_omitted = u64::try_from(coverage.damage.len().saturating_sub(DAMAGE)).unwrap_or(0);
    coverage.damage.truncate(DAMAGE);
    tell_keys(&mut coverage, counts);
    coverage
}
