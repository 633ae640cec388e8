//! `--list`: every surplus copy as one line of CSV, for those who must skip or refund them. Of an event
//! that was aborted and written again it is the aborted copy.
//!
//! The header names the columns. Lines end in a line feed. Keys are quoted by [`escape::csv`], so
//! that a spreadsheet takes none for a formula; `businessKeyForm` says what the cell holds: `text`,
//! `base64`, `parts` (JSON), `digest`, `keyedHash`. Beside the digest of a content stands its record key. Unknown
//! is empty.

use super::escape;
use crate::finding::{BusinessKey, Code, Copy, Finding, Group, KeyPart, Level, Place, Visibility, rfc3339};
use std::borrow::Cow;
use std::io::{self, Write};

/// The first line.
const HEADER: &str = "topic,partition,offset,businessKey,businessKeyForm,producerId,producerEpoch,sequence,\
                      timestamp,time,code,finding,repeatsTopic,repeatsPartition,repeatsOffset,level,visibility,recordKey,recordKeyForm\n";

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
}

impl<'a> ListRow<'a> {
    /// The rows of a finding: its surplus copies. Where the earlier copy is in an aborted transaction, it is
    /// the one to skip, and the later one stays.
    pub fn all_of(finding: &'a Finding) -> impl Iterator<Item = Self> {
        let rows = move |group: &'a Group| {
            let later = group.copies.iter().skip(1);
            later.filter_map(move |copy| {
                let row = Self::of(finding, &group.business_key, copy);
                if finding.code != Code::AbortedThenRetried {
                    return Some(row);
                }
                let earlier = group.copies.iter().find(|one| Some(one.place()) == copy.repeats)?;
                let aborted = Self::of(finding, &group.business_key, earlier);
                Some(Self { repeats: Some(copy.place()), level: copy.level, ..aborted })
            })
        };
        finding.groups.iter().flat_map(rows)
    }

    /// The row of a copy that stands in a finding.
    #[must_use]
    pub fn of(finding: &'a Finding, business_key: &'a BusinessKey, copy: &'a Copy) -> Self {
        Self {
            topic: &copy.topic,
            partition: copy.partition,
            offset: copy.offset,
            business_key: Some(business_key),
            producer_id: copy.producer_id,
            producer_epoch: copy.producer_epoch,
            sequence: copy.sequence,
            timestamp: copy.timestamp,
            code: finding.code,
            finding: &finding.id,
            repeats: copy.repeats.clone(),
            level: copy.level,
            visibility: copy.visibility,
        }
    }
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
        let of_content = row.business_key.and_then(|key| match key {
            BusinessKey::Digest { record_key, .. } => record_key.as_deref(),
            BusinessKey::Text { .. }
            | BusinessKey::Base64 { .. }
            | BusinessKey::Parts { .. }
            | BusinessKey::KeyedHash { .. } => None,
        });
        let (record_key_form, record_key) = of_content.map_or(("", Cow::Borrowed("")), key_cell);
        let repeats = row.repeats.as_ref();
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
            repeats.map(|place| escape::csv(&place.topic).into_owned()).unwrap_or_default(),
            maybe(repeats.map(|place| place.partition)),
            maybe(repeats.map(|place| place.offset)),
            row.level.map(|level| format!("{level}")).unwrap_or_default(),
            row.visibility.to_string(),
            record_key.into_owned(),
            record_key_form.to_owned(),
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
            producer_id: -1,
            producer_epoch: None,
            sequence: None,
            timestamp: Some(1_700_000_000_005),
            code: Code::ResendNewSession,
            finding: "DA-1",
            repeats: Some(place),
            level: Some(Level::E4),
            visibility: Visibility::NonTransactional,
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
            "orders,0,60,order-41,text,-1,,,1700000000005,2023-11-14T22:13:20.005Z,resend-new-session,DA-1,orders,0,40,E4,non-transactional,,"
        );
        assert_eq!(lines[0].matches(',').count(), lines[1].matches(',').count());
    }

    #[test]
    fn of_an_aborted_copy_and_a_valid_one_the_aborted_one_is_listed() {
        let copy = |offset, visibility, repeats: Option<i64>| Copy {
            topic: "bills".to_owned(),
            offset,
            visibility,
            repeats: repeats.map(|offset| Place { topic: "bills".to_owned(), partition: 0, offset }),
            level: repeats.map(|_| Level::E4),
            ..some_copy()
        };
        let copies = vec![copy(22, Visibility::Aborted, None), copy(33, Visibility::Committed, Some(22))];
        let business_key = BusinessKey::Text { text: "bill-1".to_owned() };
        let groups = vec![Group { business_key, copies, copies_omitted: 0 }];
        let told = |code| {
            let finding = Finding { groups: groups.clone(), ..Finding::empty(code) };
            let rows: Vec<_> = ListRow::all_of(&finding)
                .map(|row| (row.offset, row.visibility, row.repeats.map(|place| place.offset)))
                .collect();
            rows
        };
        assert_eq!(told(Code::AbortedThenRetried), [(22, Visibility::Aborted, Some(33))]);
        assert_eq!(told(Code::ResendNewSession), [(33, Visibility::Committed, Some(22))]);
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
        assert!(lines[1].ends_with(",non-transactional,\"'=order-41\",text"), "{}", lines[1]);
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
