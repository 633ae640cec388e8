//! What `producers` answers: every producer id with its sessions, what is missing in each, how each
//! ended, and what the snapshots say.
//!
//! Goes in: a report without caps, and the producers with what the snapshots say of them. Comes out: [`Producers`], the
//! command's own part of the JSON. Nothing is judged here but how a session ended, which is a matter of order and
//! time. Of the producers one is held at a time.

use super::model::{Report, SessionReport, TransactionalId};
use super::producer_list::{ProducerList, ProducerListWriter, Ranked};
use crate::error::AuditError;
use crate::finding::{Code, Finding, Gap, Outcome};
use crate::spill::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Records of a session that counts as short in the summary.
const FEW_RECORDS: u64 = 20;
/// The length of a session that counts as short.
const SHORT_MS: i64 = 60_000;

/// The command's own part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Producers {
    /// The producers, in the order that was asked for.
    #[schemars(with = "Vec<Producer>")]
    pub producers: ProducerList,
    /// How many came and went, over all that were chosen.
    pub churn: Churn,
    /// Records without producer id, of which nothing tells who wrote them; internal topics aside.
    #[serde(default)]
    pub records_without_id: u64,
    /// Ids that were asked for and are nowhere.
    #[serde(default)]
    pub not_found: Vec<i64>,
    /// What is wrong with producers: gaps, anomalies, snapshots, open transactions, churn.
    pub findings: Vec<Finding>,
}

/// One producer id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Producer {
    /// As on disk.
    pub producer_id: i64,
    /// The transactional id, where something tells it.
    pub transactional_id: Option<TransactionalId>,
    /// Its records, as they are now.
    pub records: u64,
    /// The partitions that it wrote to.
    pub partitions: u64,
    /// Its sessions, each in each partition.
    pub sessions: Vec<ProducerSession>,
    /// What the newest snapshots of each partition say of it, and those that disagree with the log.
    pub snapshots: Vec<SnapshotState>,
}

/// One life of a producer in one partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProducerSession {
    /// The session.
    #[serde(flatten)]
    pub session: SessionReport,
    /// Sequences that are missing in it, with reasons.
    pub gaps: Vec<Gap>,
    /// How it ended here.
    pub ended_by: EndedBy,
}

/// How a session ended in a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// It wrote within the time in which a broker remembers a producer: it may go on.
    #[default]
    LogEnd,
    /// Its last transaction has no end.
    OpenTransaction,
    /// The same producer id went on in a later session.
    NextSession,
    /// It has been silent for so long that a broker forgets it.
    Silence,
}

impl EndedBy {
    /// The name in the answer.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LogEnd => "log-end",
            Self::OpenTransaction => "open-transaction",
            Self::NextSession => "next-session",
            Self::Silence => "silence",
        }
    }

    /// What it says of the session.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::LogEnd => "may go on",
            Self::OpenTransaction => "open transaction",
            Self::NextSession => "went on in a later session",
            Self::Silence => "silent for long",
        }
    }
}

/// What one producer snapshot says of a producer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotState {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The snapshot's file name: it covers what lies below this offset.
    pub file: String,
    /// The producer's epoch.
    pub epoch: Option<i16>,
    /// The last sequence of its last batch; `null` where the epoch has none.
    pub last_sequence: Option<i32>,
    /// The last offset of that batch.
    pub last_offset: Option<i64>,
    /// Where its open transaction begins.
    pub transaction_first_offset: Option<i64>,
    /// Whether nothing in the log contradicts it.
    pub agrees: bool,
    /// What the log says instead.
    pub log: Option<String>,
}

/// How many producers came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Churn {
    /// Producer ids.
    pub producers: u64,
    /// Sessions, each counted once over its partitions.
    pub sessions: u64,
    /// Producer ids with at most 20 records, all within a minute.
    pub short_lived: u64,
}

/// In which order producers are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By producer id.
    #[default]
    Id,
    /// The one with the most records first.
    Records,
    /// The one that wrote first, first.
    First,
    /// The one that wrote last, first.
    Last,
    /// The one with the most missing sequences first.
    Gaps,
}

/// Which producers are told, and how.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only these ids; all when there is none.
    pub ids: BTreeSet<i64>,
    /// The order.
    pub order: Order,
    /// `producer.id.expiration.ms`, as told or by default.
    pub expiration_ms: i64,
}

impl Producers {
    /// Puts together what the report says and what is told of each producer.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written or read.
    pub fn of(
        report: &Report,
        told: &ProducerList,
        wanted: &Wanted,
        share: &Share,
    ) -> Result<Self, AuditError> {
        let gaps = gaps_by_place(&report.findings);
        let open = open_transactions(&report.findings);
        let mut churn = Churn::default();
        let mut found = BTreeSet::new();
        let mut sorter = share.sorter();
        let failed = |source| share.space.failed(source);
        for producer in told {
            let mut producer = producer.map_err(failed)?;
            let id = producer.producer_id;
            if !wanted.ids.is_empty() && !wanted.ids.contains(&id) {
                continue;
            }
            found.extend(wanted.ids.get(&id));
            producer.complete(&gaps, &open, report.as_of_timestamp, wanted);
            churn.add(&producer);
            sorter.push(Ranked::new(rank(&producer, wanted.order), &producer).map_err(failed)?)?;
        }
        let mut producers = ProducerListWriter::new(share);
        for producer in sorter.finish()? {
            producers.put(&producer?)?;
        }
        let findings = report.findings.iter();
        let findings =
            findings.filter(|finding| is_about_producers(finding) && concerns(finding, &wanted.ids)).cloned();
        Ok(Self {
            churn,
            records_without_id: records_without_id(report),
            not_found: wanted.ids.difference(&found).copied().collect(),
            findings: findings.collect(),
            producers: producers.finish()?,
        })
    }
}

type Places<'a, T> = BTreeMap<(&'a str, i32, i64), Vec<T>>;

fn gaps_by_place(findings: &[Finding]) -> Places<'_, &Gap> {
    let mut places: Places<'_, &Gap> = BTreeMap::new();
    for gap in findings.iter().flat_map(|finding| &finding.gaps) {
        places.entry((&gap.topic, gap.partition, gap.producer_id)).or_default().push(gap);
    }
    for gaps in places.values_mut() {
        gaps.sort_by_key(|gap| gap.at_offset);
    }
    places
}

/// Last offsets of the data of open transactions.
fn open_transactions(findings: &[Finding]) -> Places<'_, i64> {
    let mut places: Places<'_, i64> = BTreeMap::new();
    let open = findings.iter().filter(|finding| finding.code == Code::TransactionOpen);
    for one in open.flat_map(|finding| &finding.transactions).filter(|one| one.outcome == Outcome::Open) {
        let last = one.last_offset.unwrap_or(one.first_offset);
        places.entry((&one.topic, one.partition, one.producer_id)).or_default().push(last);
    }
    places
}

fn ended_by(
    session: &SessionReport,
    goes_on: bool,
    is_open: bool,
    as_of: Option<i64>,
    wanted: &Wanted,
) -> EndedBy {
    let silent = as_of
        .zip(session.window.last_timestamp)
        .is_some_and(|(now, last)| now.saturating_sub(last) >= wanted.expiration_ms);
    match (is_open, goes_on, silent) {
        (true, ..) => EndedBy::OpenTransaction,
        (false, true, _) => EndedBy::NextSession,
        (false, false, true) => EndedBy::Silence,
        (false, false, false) => EndedBy::LogEnd,
    }
}

impl Churn {
    fn add(&mut self, producer: &Producer) {
        if producer.sessions.is_empty() {
            return;
        }
        self.producers += 1;
        let names: BTreeSet<&str> =
            producer.sessions.iter().map(|session| session.session.session.as_str()).collect();
        self.sessions += names.len() as u64;
        let length =
            producer.last().zip(producer.first()).map_or(0, |(last, first)| last.saturating_sub(first));
        self.short_lived += u64::from(producer.records <= FEW_RECORDS && length <= SHORT_MS);
    }
}

impl Producer {
    /// Adds the gaps of its sessions and how each ended, and what follows from all of them.
    fn complete(
        &mut self,
        gaps: &Places<'_, &Gap>,
        open: &Places<'_, i64>,
        as_of: Option<i64>,
        wanted: &Wanted,
    ) {
        let id = self.producer_id;
        let mut later: BTreeMap<(String, i32), i64> = BTreeMap::new();
        for ProducerSession { session, .. } in &self.sessions {
            let place = (session.topic.clone(), session.partition);
            let last = later.entry(place).or_insert(session.first_offset);
            *last = (*last).max(session.first_offset);
        }
        for told in &mut self.sessions {
            let session = &told.session;
            let place = (session.topic.as_str(), session.partition, id);
            let within = session.first_offset..=session.last_offset;
            let own = gaps.get(&place).into_iter().flatten();
            told.gaps = own.filter(|gap| within.contains(&gap.at_offset)).map(|&gap| gap.clone()).collect();
            let goes_on =
                later.get(&(session.topic.clone(), session.partition)) > Some(&session.first_offset);
            let is_open = open.get(&place).is_some_and(|opens| opens.iter().any(|at| within.contains(at)));
            told.ended_by = ended_by(session, goes_on, is_open, as_of, wanted);
        }
        self.records = self.sessions.iter().map(|session| session.session.records).sum();
        self.partitions = later.len() as u64;
    }

    /// Its smallest time.
    #[must_use]
    pub fn first(&self) -> Option<i64> {
        self.sessions.iter().filter_map(|session| session.session.window.first_timestamp).min()
    }

    /// Its largest time.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.sessions.iter().filter_map(|session| session.session.window.last_timestamp).max()
    }

    /// How many of its sequences are missing.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.sessions.iter().flat_map(|session| &session.gaps).map(|gap| u64::from(gap.missing)).sum()
    }
}

/// Where a producer stands among the others.
fn rank(producer: &Producer, order: Order) -> [i64; 2] {
    let most_first = |number: u64| -i64::try_from(number).unwrap_or(i64::MAX);
    let first = match order {
        Order::Id => 0,
        Order::Records => most_first(producer.records),
        Order::First => producer.first().unwrap_or(i64::MAX),
        Order::Last => producer.last().map_or(i64::MAX, i64::saturating_neg),
        Order::Gaps => most_first(producer.missing()),
    };
    [first, producer.producer_id]
}

fn records_without_id(report: &Report) -> u64 {
    let partitions = report.topics.iter().filter(|topic| !topic.internal).flat_map(|topic| &topic.partitions);
    partitions.map(|at| at.protection.unprotected_records + at.protection.legacy_records).sum()
}

/// Whether a finding may be about one of these ids, or no id was asked for.
fn concerns(finding: &Finding, ids: &BTreeSet<i64>) -> bool {
    let gaps = finding.gaps.iter().map(|gap| gap.producer_id);
    let transactions = finding.transactions.iter().map(|transaction| transaction.producer_id);
    let snapshots = finding.snapshots.iter().filter_map(|difference| difference.producer_id);
    let mut named = gaps.chain(transactions).chain(snapshots).peekable();
    ids.is_empty()
        || match named.peek() {
            Some(_) => named.any(|id| ids.contains(&id)),
            None => finding.code != Code::ProducerChurn,
        }
}

fn is_about_producers(finding: &Finding) -> bool {
    matches!(
        finding.code,
        Code::SequenceGap
            | Code::SequenceGapExplained
            | Code::SequenceAnomaly
            | Code::ProducerIdCollision
            | Code::SnapshotMismatch
            | Code::TransactionOpen
            | Code::TransactionAnomaly
            | Code::ProducerChurn
            | Code::IdempotenceIneffective
    )
}
