//! `--list`: every surplus copy as one line of CSV, for those who must skip or refund them. Of an event
//! that was aborted and written again it is the aborted copy.
//!
//! The header names the columns. Lines end in a line feed. Keys are quoted by [`escape::csv`], so
//! that a spreadsheet takes none for a formula; `businessKeyForm` says what the cell holds: `text`,
//! `base64`, `parts` (JSON), `digest`, `keyedHash`. `recordKey` is the record key where it is the identity or a part
//! of it, or stands beside the digest of a content. `readCommittedSees` is false for what no read_committed consumer
//! was given. `repeats…` is the copy before, `original…` the one that is left when all rows are skipped. Unknown is
//! empty.

use super::escape;
use super::model::TopicReport;
use super::wording::{counted, number};
use crate::finding::{BusinessKey, Code, Copy, Finding, Group, KeyPart, Level, Place, Visibility, rfc3339};
use crate::spill::{Share, Table};
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::io::{self, Write};

/// The first line.
const HEADER: &str = "topic,partition,offset,businessKey,businessKeyForm,producerId,producerEpoch,sequence,\
                      timestamp,time,code,finding,repeatsTopic,repeatsPartition,repeatsOffset,level,visibility,recordKey,recordKeyForm,\
                      readCommittedSees,originalTopic,originalPartition,originalOffset\n";

/// Steps from copy to original over several findings; a report that somebody wrote may turn in circles.
const STEPS: usize = 64;

/// Hands out findings with all of their groups that are at hand, in parts, as often as it is asked.
pub type Findings<'a> = dyn Fn(&mut dyn FnMut(&Finding) -> io::Result<()>) -> io::Result<()> + 'a;

/// The surplus copies of all findings, beside what the topics say of them. There may be more of them than fit
/// into memory: they are read again each time.
pub struct Surplus<'a> {
    findings: &'a Findings<'a>,
    identities: HashMap<&'a str, &'a str>,
    last_stable: HashMap<(&'a str, i32), i64>,
    share: Share,
    chains: OnceCell<Chains>,
}

impl std::fmt::Debug for Surplus<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surplus").field("chains", &self.chains).finish_non_exhaustive()
    }
}

/// Topic by number, partition, offset.
type Spot = [i64; 3];

/// Which copies repeat which.
#[derive(Debug)]
struct Chains {
    topics: Vec<String>,
    numbers: HashMap<String, i64>,
    /// The first copy of its group, of each later copy that stays accused.
    firsts: RefCell<Table<Spot, Spot>>,
}

impl Chains {
    fn new(share: Share) -> Self {
        Self { topics: Vec::new(), numbers: HashMap::new(), firsts: RefCell::new(Table::new(share)) }
    }

    fn add(&mut self, copy: &Copy, earlier: &Place) {
        let earlier = self.spot_of(&earlier.topic, earlier.partition, earlier.offset);
        let copy = self.spot_of(&copy.topic, copy.partition, copy.offset);
        let firsts = self.firsts.get_mut();
        let first = firsts.get(&earlier).copied().unwrap_or(earlier);
        *firsts.entry(&copy) = first;
    }

    fn spot_of(&mut self, topic: &str, partition: i32, offset: i64) -> Spot {
        let number = self.numbers.get(topic).copied().unwrap_or_else(|| {
            let number = i64::try_from(self.topics.len()).unwrap_or(i64::MAX);
            self.topics.push(topic.to_owned());
            self.numbers.insert(topic.to_owned(), number);
            number
        });
        [number, i64::from(partition), offset]
    }

    /// The copy that is left, from one that may itself be a repeat.
    fn original(&self, earlier: &Place) -> Place {
        self.left(earlier).unwrap_or_else(|| earlier.clone())
    }

    fn left(&self, earlier: &Place) -> Option<Place> {
        let mut firsts = self.firsts.borrow_mut();
        let mut first = [*self.numbers.get(&earlier.topic)?, i64::from(earlier.partition), earlier.offset];
        for _ in 0..STEPS {
            match firsts.get(&first) {
                Some(before) => first = *before,
                None => break,
            }
        }
        let [topic, partition, offset] = first;
        let topic = self.topics.get(usize::try_from(topic).ok()?)?.clone();
        Some(Place { topic, partition: i32::try_from(partition).ok()?, offset })
    }

    fn check(&self) -> io::Result<()> {
        Ok(self.firsts.borrow_mut().check()?)
    }
}

impl<'a> Surplus<'a> {
    /// Of findings in a report with these topics. What is known of the chains of repeats takes no more than the share.
    #[must_use]
    pub fn new(findings: &'a Findings<'a>, topics: &'a [TopicReport], share: Share) -> Self {
        let identities = topics.iter().filter_map(|topic| {
            let identity = topic.identity.as_ref()?;
            Some((topic.topic.as_str(), identity.key.as_str()))
        });
        let leading = topics.iter().flat_map(|topic| {
            let leads = topic.partitions.iter().filter(|partition| partition.replica_of.is_none());
            leads.map(|partition| (topic.topic.as_str(), partition))
        });
        let last_stable = leading.filter_map(|(topic, partition)| {
            Some(((topic, partition.partition), partition.last_stable_offset?))
        });
        let (identities, last_stable) = (identities.collect(), last_stable.collect());
        Self { findings, identities, last_stable, share, chains: OnceCell::new() }
    }

    /// Reads all findings once, where nobody did.
    fn chains(&self) -> io::Result<&Chains> {
        if let Some(chains) = self.chains.get() {
            return Ok(chains);
        }
        let mut chains = Chains::new(self.share.clone());
        (self.findings)(&mut |finding| {
            // Of an aborted copy and a valid one the valid one stays: it repeats nothing that is left.
            let accused = finding.groups.iter().filter(|_| finding.code != Code::AbortedThenRetried);
            for copy in accused.flat_map(|group| group.copies.iter().skip(1)) {
                if let Some(earlier) = &copy.repeats {
                    chains.add(copy, earlier);
                }
            }
            Ok(())
        })?;
        chains.check()?;
        Ok(self.chains.get_or_init(|| chains))
    }

    /// The rows, finding by finding. Where the earlier copy is in an aborted transaction, it is the one to
    /// skip, and the later one stays.
    ///
    /// # Errors
    /// That of `each`, or what keeps the findings from being read.
    pub fn rows(&self, mut each: impl FnMut(&ListRow<'_>) -> io::Result<()>) -> io::Result<()> {
        let chains = self.chains()?;
        (self.findings)(&mut |finding| {
            for group in &finding.groups {
                for copy in group.copies.iter().skip(1) {
                    if finding.code != Code::AbortedThenRetried {
                        let repeats = copy.repeats.clone();
                        each(&self.row(chains, finding, group, copy, repeats, copy.level))?;
                    } else if let Some(earlier) =
                        group.copies.iter().find(|one| Some(one.place()) == copy.repeats)
                    {
                        each(&self.row(chains, finding, group, earlier, Some(copy.place()), copy.level))?;
                    }
                }
            }
            Ok(())
        })?;
        chains.check()
    }

    fn row<'f>(
        &self,
        chains: &Chains,
        finding: &'f Finding,
        group: &'f Group,
        copy: &'f Copy,
        repeats: Option<Place>,
        level: Option<Level>,
    ) -> ListRow<'f> {
        let topic = copy.topic.as_str();
        let stable = self.last_stable.get(&(topic, copy.partition));
        ListRow {
            topic,
            partition: copy.partition,
            offset: copy.offset,
            business_key: Some(&group.business_key),
            record_key: record_key(&group.business_key, self.identities.get(topic).copied()),
            producer_id: copy.producer_id,
            producer_epoch: copy.producer_epoch,
            sequence: copy.sequence,
            timestamp: copy.timestamp,
            code: finding.code,
            finding: &finding.id,
            original: repeats.as_ref().map(|earlier| chains.original(earlier)),
            repeats,
            level,
            visibility: copy.visibility,
            seen: match copy.visibility {
                Visibility::Aborted => SeenCommitted::Never,
                _ if stable.is_some_and(|stable| copy.offset >= *stable) => SeenCommitted::NotYet,
                Visibility::NonTransactional | Visibility::Committed => SeenCommitted::Yes,
                Visibility::Open | Visibility::Other(_) => SeenCommitted::NotYet,
            },
        }
    }

    /// How many rows there are, and how many of them read_committed consumers were not given, as a sentence without
    /// full stop.
    ///
    /// # Errors
    /// What keeps the findings from being read.
    pub fn in_short(&self) -> io::Result<String> {
        let (mut rows, mut never, mut not_yet) = (0_u64, 0_u64, 0_u64);
        self.rows(|row| {
            rows += 1;
            match row.seen {
                SeenCommitted::Yes => {}
                SeenCommitted::Never => never += 1,
                SeenCommitted::NotYet => not_yet += 1,
            }
            Ok(())
        })?;
        let mut said = counted(rows, "row");
        if never > 0 {
            said = format!(
                "{said}, {} of them in aborted transactions: read_committed consumers never saw them",
                number(never)
            );
        }
        if not_yet > 0 {
            let joint = if never > 0 { "; " } else { ", " };
            said = format!(
                "{said}{joint}{} in or behind an open transaction: read_committed consumers have not seen them yet",
                number(not_yet)
            );
        }
        Ok(said)
    }
}

/// Whether read_committed consumers were given a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenCommitted {
    /// They were.
    Yes,
    /// Its transaction was aborted.
    Never,
    /// It is in or behind an open transaction.
    NotYet,
}

/// The record key, where the identity tells it.
fn record_key<'a>(key: &'a BusinessKey, identity: Option<&str>) -> Option<Cow<'a, BusinessKey>> {
    match key {
        BusinessKey::Digest { record_key, .. } => record_key.as_deref().map(Cow::Borrowed),
        BusinessKey::Parts { parts } => {
            let part = parts.iter().find(|part| part.key == RECORD_KEY)?;
            let own = match part {
                KeyPart { text: Some(text), .. } => BusinessKey::Text { text: text.clone() },
                KeyPart { base64: Some(base64), .. } => BusinessKey::Base64 { base64: base64.clone() },
                KeyPart { keyed_hash: Some(hash), .. } => BusinessKey::KeyedHash { keyed_hash: hash.clone() },
                _ => return None,
            };
            Some(Cow::Owned(own))
        }
        BusinessKey::Text { .. } | BusinessKey::Base64 { .. } | BusinessKey::KeyedHash { .. } => {
            (identity == Some(RECORD_KEY)).then_some(Cow::Borrowed(key))
        }
    }
}

/// The record key, as `--key` spells it.
const RECORD_KEY: &str = "record-key";

/// One surplus copy.
#[derive(Clone, Debug)]
pub struct ListRow<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The partition's number.
    pub partition: i32,
    /// The record's offset.
    pub offset: i64,
    /// The identity, where it was kept.
    pub business_key: Option<&'a BusinessKey>,
    /// The record key, where it is known.
    pub record_key: Option<Cow<'a, BusinessKey>>,
    /// As on disk.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: Option<i16>,
    /// The sequence.
    pub sequence: Option<i32>,
    /// The record's time.
    pub timestamp: Option<i64>,
    /// The finding that explains it.
    pub code: Code,
    /// That finding's id.
    pub finding: &'a str,
    /// The other copy: the earlier one, or, of an aborted copy that was written again, the later one.
    pub repeats: Option<Place>,
    /// How equal the two are.
    pub level: Option<Level>,
    /// What its transaction makes of it.
    pub visibility: Visibility,
    /// The copy that is left when all rows are skipped.
    pub original: Option<Place>,
    /// Whether read_committed consumers were given it.
    pub seen: SeenCommitted,
}

/// Writes rows one by one; keeps none.
#[derive(Debug)]
pub struct List<W: Write> {
    out: W,
}

impl<W: Write> List<W> {
    /// Writes the header.
    pub fn begin(mut out: W) -> io::Result<Self> {
        out.write_all(HEADER.as_bytes())?;
        Ok(Self { out })
    }

    /// Writes one copy.
    pub fn row(&mut self, row: &ListRow<'_>) -> io::Result<()> {
        let (form, key) = row.business_key.map_or(("", Cow::Borrowed("")), key_cell);
        let (record_key_form, record_key) =
            row.record_key.as_deref().map_or(("", Cow::Borrowed("")), key_cell);
        let [repeats, original] = [row.repeats.as_ref(), row.original.as_ref()].map(place_cells);
        let cells = [
            escape::csv(row.topic).into_owned(),
            row.partition.to_string(),
            row.offset.to_string(),
            key.into_owned(),
            form.to_owned(),
            row.producer_id.to_string(),
            maybe(row.producer_epoch),
            maybe(row.sequence),
            maybe(row.timestamp),
            row.timestamp.and_then(rfc3339).unwrap_or_default(),
            row.code.to_string(),
            escape::csv(row.finding).into_owned(),
            repeats,
            row.level.map(|level| format!("{level}")).unwrap_or_default(),
            row.visibility.to_string(),
            record_key.into_owned(),
            record_key_form.to_owned(),
            (row.seen == SeenCommitted::Yes).to_string(),
            original,
        ];
        writeln!(self.out, "{}", cells.join(","))
    }

    /// Hands the writer back, flushed.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// The form of a key, and its cell.
pub(super) fn key_cell(key: &BusinessKey) -> (&'static str, Cow<'_, str>) {
    match key {
        BusinessKey::Text { text } => ("text", escape::csv(text)),
        BusinessKey::Base64 { base64 } => ("base64", escape::csv(base64)),
        BusinessKey::Parts { parts } => ("parts", Cow::Owned(json_cell(parts))),
        BusinessKey::Digest { digest, .. } => ("digest", escape::csv(digest)),
        BusinessKey::KeyedHash { keyed_hash } => ("keyedHash", escape::csv(keyed_hash)),
    }
}

/// A quoted cell of JSON in ASCII: it escapes by itself what cannot be seen, and `[` begins no formula.
fn json_cell(parts: &[KeyPart]) -> String {
    let json = serde_json::to_string(parts).unwrap_or_default();
    let mut cell = String::from("\"");
    for character in json.chars() {
        match character {
            '"' => cell.push_str("\"\""),
            ' '..='~' => cell.push(character),
            _ => {
                cell.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    cell.push('"');
    cell
}

/// Three cells: topic, partition, offset.
fn place_cells(place: Option<&Place>) -> String {
    place.map_or_else(
        || ",,".to_owned(),
        |place| format!("{},{},{}", escape::csv(&place.topic), place.partition, place.offset),
    )
}

fn maybe<T: ToString>(number: Option<T>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &BusinessKey, place: Place) -> ListRow<'_> {
        ListRow {
            topic: "orders",
            partition: 0,
            offset: 60,
            business_key: Some(key),
            record_key: record_key(key, None),
            producer_id: -1,
            producer_epoch: None,
            sequence: None,
            timestamp: Some(1_700_000_000_005),
            code: Code::ResendNewSession,
            finding: "DA-1",
            repeats: Some(place.clone()),
            level: Some(Level::E4),
            visibility: Visibility::NonTransactional,
            original: Some(place),
            seen: SeenCommitted::Yes,
        }
    }

    fn lines(keys: &[BusinessKey]) -> Vec<String> {
        let place = Place { topic: "orders".to_owned(), partition: 0, offset: 40 };
        let mut list = List::begin(Vec::new()).unwrap();
        for key in keys {
            list.row(&row(key, place.clone())).unwrap();
        }
        String::from_utf8(list.finish().unwrap()).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_copy_is_one_line_with_as_many_cells_as_the_header() {
        let lines = lines(&[BusinessKey::Text { text: "order-41".to_owned() }]);
        assert_eq!(lines.len(), 2);
        assert_eq!(
            lines[1],
            "orders,0,60,order-41,text,-1,,,1700000000005,2023-11-14T22:13:20.005Z,resend-new-session,DA-1,orders,0,40,E4,non-transactional,,,true,orders,0,40"
        );
        assert_eq!(lines[0].matches(',').count(), lines[1].matches(',').count());
    }

    #[test]
    fn of_an_aborted_copy_and_a_valid_one_the_aborted_one_is_listed() {
        let copies = vec![copy(22, Visibility::Aborted, None), copy(33, Visibility::Committed, Some(22))];
        let told = |code| {
            let findings = [finding(code, copies.clone())];
            let all = handed(&findings);
            let surplus = Surplus::new(&*all, &[], Share::default());
            let offset = |place: Option<&Place>| place.map(|place| place.offset);
            let rows = of_rows(&surplus, |row| {
                (row.offset, row.seen, offset(row.repeats.as_ref()), offset(row.original.as_ref()))
            });
            (rows, surplus.in_short().unwrap())
        };
        let (rows, said) = told(Code::AbortedThenRetried);
        assert_eq!(rows, [(22, SeenCommitted::Never, Some(33), Some(33))]);
        assert_eq!(said, "1 row, 1 of them in aborted transactions: read_committed consumers never saw them");
        let (rows, said) = told(Code::ResendNewSession);
        assert_eq!(rows, [(33, SeenCommitted::Yes, Some(22), Some(22))]);
        assert_eq!(said, "1 row");
    }

    fn handed(findings: &[Finding]) -> Box<Findings<'_>> {
        Box::new(|each| findings.iter().try_for_each(each))
    }

    fn of_rows<T>(surplus: &Surplus<'_>, of: impl Fn(&ListRow<'_>) -> T) -> Vec<T> {
        let mut rows = Vec::new();
        surplus
            .rows(|row| {
                rows.push(of(row));
                Ok(())
            })
            .unwrap();
        rows
    }

    fn copy(offset: i64, visibility: Visibility, repeats: Option<i64>) -> Copy {
        Copy {
            topic: "bills".to_owned(),
            offset,
            visibility,
            repeats: repeats.map(|offset| Place { topic: "bills".to_owned(), partition: 0, offset }),
            level: repeats.map(|_| Level::E4),
            ..some_copy()
        }
    }

    fn finding(code: Code, copies: Vec<Copy>) -> Finding {
        let business_key = BusinessKey::Text { text: "bill-1".to_owned() };
        Finding { groups: vec![Group { business_key, copies, copies_omitted: 0 }], ..Finding::empty(code) }
    }

    /// Four valid copies behind an aborted one, in three findings that stand in any order.
    #[test]
    fn the_original_is_the_copy_that_is_left_over_all_findings() {
        use Visibility::{Aborted, Committed};
        let findings = [
            finding(Code::ResendSameSession, vec![copy(40, Committed, None), copy(50, Committed, Some(40))]),
            finding(
                Code::ResendNewSession,
                vec![copy(20, Committed, None), copy(30, Committed, Some(20)), copy(40, Committed, Some(30))],
            ),
            finding(Code::AbortedThenRetried, vec![copy(10, Aborted, None), copy(20, Committed, Some(10))]),
        ];
        let all = handed(&findings);
        for limit in [0, usize::MAX] {
            let surplus = Surplus::new(&*all, &[], Share { limit, ..Share::default() });
            let rows = of_rows(&surplus, |row| (row.offset, row.original.as_ref().map(|place| place.offset)));
            assert_eq!(rows, [(50, Some(20)), (30, Some(20)), (40, Some(20)), (10, Some(20))]);
        }
        // Of a report that turns in circles it is some copy, and the list has an end.
        let circle =
            [finding(Code::ResendNewSession, vec![copy(1, Committed, None), copy(1, Committed, Some(1))])];
        let all = handed(&circle);
        assert_eq!(of_rows(&Surplus::new(&*all, &[], Share::default()), |_| ()).len(), 1);
    }

    #[test]
    fn what_stands_behind_an_open_transaction_is_not_seen_yet() {
        let seen = Visibility::NonTransactional;
        let copies = vec![copy(1, seen, None), copy(5, seen, Some(1)), copy(9, seen, Some(5))];
        let findings = [finding(Code::ResendNewSession, copies)];
        let topics: Vec<TopicReport> = vec![TopicReport {
            topic: "bills".to_owned(),
            partitions: vec![crate::report::model::PartitionReport {
                last_stable_offset: Some(9),
                ..Default::default()
            }],
            ..TopicReport::default()
        }];
        let all = handed(&findings);
        let surplus = Surplus::new(&*all, &topics, Share::default());
        assert_eq!(of_rows(&surplus, |row| row.seen), [SeenCommitted::Yes, SeenCommitted::NotYet]);
        let said = surplus.in_short().unwrap();
        assert!(said.starts_with("2 rows, 1 in or behind an open"), "{said}");
    }

    #[test]
    fn the_record_key_is_told_where_it_is_the_identity_or_a_part_of_it() {
        let text = |text: &str| BusinessKey::Text { text: text.to_owned() };
        assert_eq!(record_key(&text("a"), Some("record-key")).as_deref(), Some(&text("a")));
        assert_eq!(record_key(&text("7"), Some("json:/id")), None);
        let part = |key: &str, text: &str| KeyPart {
            key: key.to_owned(),
            text: Some(text.to_owned()),
            base64: None,
            null: None,
            keyed_hash: None,
        };
        let parts = BusinessKey::Parts { parts: vec![part("json:/id", "7"), part("record-key", "a")] };
        assert_eq!(record_key(&parts, Some("json:/id+record-key")).as_deref(), Some(&text("a")));
    }

    fn some_copy() -> Copy {
        serde_json::from_str(
            r#"{"topic":"","partition":0,"directory":"","brokerId":null,"segment":"","position":0,"offset":0,
            "timestamp":null,"time":null,"timestampType":"CreateTime","producerId":1,"producerEpoch":0,"sequence":0,
            "session":null,"partitionLeaderEpoch":null,"batchBaseOffset":0,"crc":0,"visibility":"committed",
            "repeats":null,"level":null}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_hostile_key_stays_one_harmless_cell() {
        let hostile = "=cmd()\r\n\"x\",\u{1b}[2J";
        let lines = lines(&[BusinessKey::Text { text: hostile.to_owned() }]);
        assert_eq!(lines.len(), 2, "no line end gets through");
        assert!(
            lines[1].starts_with("orders,0,60,\"'=cmd()\\r\\n\"\"x\"\",\\x1b[2J\",text,"),
            "{}",
            lines[1]
        );
    }

    #[test]
    fn the_digest_of_a_content_has_its_record_key_beside_it() {
        let record_key = Some(Box::new(BusinessKey::Text { text: "=order-41".to_owned() }));
        let lines = lines(&[BusinessKey::Digest { digest: "0a".to_owned(), record_key }]);
        assert!(lines[1].starts_with("orders,0,60,0a,digest,"), "{}", lines[1]);
        assert!(lines[1].contains(",non-transactional,\"'=order-41\",text,true,"), "{}", lines[1]);
    }

    #[test]
    fn a_joined_key_is_json() {
        let part = KeyPart {
            key: "record-key".to_owned(),
            text: Some("a\n\u{202e}🙂\\n".to_owned()),
            base64: None,
            null: None,
            keyed_hash: None,
        };
        let lines = lines(&[BusinessKey::Parts { parts: vec![part] }]);
        assert!(
            lines[1].contains("\"[{\"\"key\"\":\"\"record-key\"\",\"\"text\"\":\"\"a\\n\\u202e\\ud83d\\ude42\\\\n\"\"}]\",parts"),
            "{}",
            lines[1]
        );
    }
}
