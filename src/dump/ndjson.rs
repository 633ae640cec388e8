//! One JSON object a line: batches, records, damage, entries of indexes and snapshots.
//!
//! Fields are spelled as Kafka's dump tool spells them, where it has them; −1 for "none" is null,
//! except in a producer id. Keys, values and header values are `{"text": …}` when they are UTF-8, else
//! `{"base64": …}`; null stays null. Every line names its file and stands for itself.

use super::file_kind::FileKind;
use super::printer::{
    Checksum, ControlText, Decoded, PrintedBatch, PrintedRecord, Printer, RestOfFile, TextEntry,
};
use crate::format::internal::Value;
use crate::format::{AbortedTransaction, Damage, OffsetIndexEntry, Record, SnapshotEntry, TimeIndexEntry};
use crate::units::{LeaderEpoch, Offset, ProducerEpoch, Sequence, Timestamp};
use base64::Engine;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use std::io::{self, Write};
use std::path::Path;

/// Prints JSON lines.
#[derive(Debug)]
pub(super) struct NdjsonPrinter<'a, W> {
    out: &'a mut W,
    file: String,
}

impl<'a, W: Write> NdjsonPrinter<'a, W> {
    pub(super) fn new(out: &'a mut W) -> Self {
        Self { out, file: String::new() }
    }

    fn line(&mut self, kind: &'static str, fields: impl Serialize) -> io::Result<()> {
        let line = Line { kind, file: &self.file, fields };
        let mut serializer = serde_json::Serializer::with_formatter(&mut *self.out, Visible);
        line.serialize(&mut serializer).map_err(io::Error::from)?;
        self.out.write_all(b"\n")
    }
}

/// What every line has.
#[derive(Serialize)]
struct Line<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    file: &'a str,
    #[serde(flatten)]
    fields: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchLine {
    position: u64,
    size: u64,
    base_offset: Option<i64>,
    last_offset: i64,
    count: Option<u32>,
    base_sequence: Option<i32>,
    last_sequence: Option<i32>,
    producer_id: i64,
    producer_epoch: Option<i16>,
    partition_leader_epoch: Option<i32>,
    is_transactional: bool,
    is_control: bool,
    delete_horizon_ms: Option<i64>,
    timestamp_type: &'static str,
    base_timestamp: i64,
    max_timestamp: i64,
    magic: i8,
    attributes: i16,
    compresscodec: Option<&'static str>,
    crc: u32,
    isvalid: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordLine<'r, 'a> {
    position: u64,
    offset: i64,
    timestamp: i64,
    timestamp_type: &'static str,
    client_timestamp: i64,
    producer_id: i64,
    producer_epoch: Option<i16>,
    sequence: Option<i32>,
    key_size: Option<usize>,
    value_size: Option<usize>,
    key: Option<Bytes<'a>>,
    value: Option<Bytes<'a>>,
    headers: HeaderList<'r, 'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_valid: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crc: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded: Option<DecodedRecord<'r, 'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<Control<'r, 'a>>,
}

impl<'r, 'a> RecordLine<'r, 'a> {
    fn new(batch: PrintedBatch<'_>, record: &'r Record<'a>) -> Self {
        Self {
            position: batch.position.0,
            offset: record.offset.0,
            timestamp: record.timestamp,
            timestamp_type: batch.header.timestamp_type().name(),
            client_timestamp: record.client_timestamp,
            producer_id: batch.header.producer_id.0,
            producer_epoch: batch.header.producer_epoch.map(|ProducerEpoch(epoch)| epoch),
            sequence: record.sequence.map(Sequence::get),
            key_size: record.key.map(<[u8]>::len),
            value_size: record.value.map(<[u8]>::len),
            key: record.key.map(Bytes),
            value: record.value.map(Bytes),
            headers: HeaderList(record),
            is_valid: None,
            crc: None,
            decoded: None,
            control: None,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DamageLine<'a> {
    position: u64,
    length: u64,
    kind: &'static str,
    expected: bool,
    detail: &'a str,
    first_offset: Option<i64>,
    last_offset: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotLine {
    producer_id: i64,
    producer_epoch: Option<i16>,
    coordinator_epoch: Option<i32>,
    current_txn_first_offset: Option<i64>,
    first_sequence: Option<i32>,
    last_sequence: Option<i32>,
    last_offset: Option<i64>,
    offset_delta: i32,
    timestamp: i64,
}

impl<W: Write> Printer for NdjsonPrinter<'_, W> {
    fn file(&mut self, path: &Path, _name: &str, kind: FileKind) -> io::Result<()> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct FileLine {
            kind: &'static str,
            base_offset: Option<i64>,
            end_offset: Option<i64>,
            leader_epoch: Option<i32>,
        }
        self.file = path.to_string_lossy().into_owned();
        let base_of = |base: Option<Offset>| base.map(|Offset(offset)| offset);
        let (kind, base_offset, end) = match kind {
            FileKind::Log { base } => ("log", base_of(base), None),
            FileKind::Checkpoint { end_offset, leader_epoch } => {
                ("checkpoint", None, Some((end_offset.0, leader_epoch.0)))
            }
            FileKind::BootstrapCheckpoint => ("checkpoint", None, None),
            FileKind::OffsetIndex { base } => ("index", base_of(base), None),
            FileKind::TimeIndex { base } => ("timeindex", base_of(base), None),
            FileKind::TransactionIndex => ("txnindex", None, None),
            FileKind::ProducerSnapshot => ("snapshot", None, None),
            FileKind::Text(text) => (text.name(), None, None),
        };
        let (end_offset, leader_epoch) = end.unzip();
        self.line("file", FileLine { kind, base_offset, end_offset, leader_epoch })
    }

    fn batch(&mut self, batch: PrintedBatch<'_>) -> io::Result<()> {
        let header = batch.header;
        let fields = BatchLine {
            position: batch.position.0,
            size: batch.size,
            base_offset: header.records_count.map(|_| header.base_offset.0),
            last_offset: header.last_offset().0,
            count: header.records_count,
            base_sequence: header.base_sequence.map(Sequence::get),
            last_sequence: header.last_sequence().map(Sequence::get),
            producer_id: header.producer_id.0,
            producer_epoch: header.producer_epoch.map(|ProducerEpoch(epoch)| epoch),
            partition_leader_epoch: header.partition_leader_epoch.map(|LeaderEpoch(epoch)| epoch),
            is_transactional: header.is_transactional(),
            is_control: header.is_control(),
            delete_horizon_ms: header.delete_horizon().map(|Timestamp(horizon)| horizon),
            timestamp_type: header.timestamp_type().name(),
            base_timestamp: header.base_timestamp,
            max_timestamp: header.max_timestamp,
            magic: header.magic,
            attributes: header.attributes,
            compresscodec: header.codec().map(crate::format::Codec::name),
            crc: header.crc,
            isvalid: batch.checksum == Checksum::Right,
        };
        self.line("batch", fields)
    }

    fn record(&mut self, batch: PrintedBatch<'_>, printed: PrintedRecord<'_, '_>) -> io::Result<()> {
        let mut fields = RecordLine::new(batch, printed.record);
        if let Some(crc) = printed.message_crc {
            (fields.is_valid, fields.crc) = (Some(batch.checksum == Checksum::Right), Some(crc));
        }
        fields.decoded = printed.decoded.map(DecodedRecord);
        self.line("record", fields)
    }

    fn control(
        &mut self,
        batch: PrintedBatch<'_>,
        record: &Record<'_>,
        control: &ControlText<'_>,
    ) -> io::Result<()> {
        let mut fields = RecordLine::new(batch, record);
        fields.control = Some(Control(control));
        self.line("record", fields)
    }

    fn damage(&mut self, _name: &str, damage: &Damage, _rest: RestOfFile) -> io::Result<()> {
        let fields = DamageLine {
            position: damage.position.0,
            length: damage.length,
            kind: damage.kind.name(),
            expected: damage.expected,
            detail: &damage.detail,
            first_offset: damage.first_offset.map(|Offset(offset)| offset),
            last_offset: damage.last_offset.map(|Offset(offset)| offset),
        };
        self.line("damage", fields)
    }

    fn empty_index(&mut self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn offset_entry(&mut self, entry: OffsetIndexEntry) -> io::Result<()> {
        #[derive(Serialize)]
        struct Fields {
            offset: i64,
            position: i32,
        }
        self.line("offsetIndexEntry", Fields { offset: entry.offset.0, position: entry.position })
    }

    fn time_entry(&mut self, entry: TimeIndexEntry) -> io::Result<()> {
        #[derive(Serialize)]
        struct Fields {
            timestamp: i64,
            offset: i64,
        }
        self.line("timeIndexEntry", Fields { timestamp: entry.timestamp, offset: entry.offset.0 })
    }

    fn transaction_entry(&mut self, entry: AbortedTransaction) -> io::Result<()> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            version: i16,
            producer_id: i64,
            first_offset: i64,
            last_offset: i64,
            last_stable_offset: i64,
        }
        let fields = Fields {
            version: entry.version,
            producer_id: entry.producer_id.0,
            first_offset: entry.first_offset.0,
            last_offset: entry.last_offset.0,
            last_stable_offset: entry.last_stable_offset.0,
        };
        self.line("abortedTransaction", fields)
    }

    fn snapshot_entry(&mut self, entry: &SnapshotEntry) -> io::Result<()> {
        let fields = SnapshotLine {
            producer_id: entry.producer_id.0,
            producer_epoch: entry.producer_epoch.map(|ProducerEpoch(epoch)| epoch),
            coordinator_epoch: entry.coordinator_epoch,
            current_txn_first_offset: entry.current_txn_first_offset.map(|Offset(offset)| offset),
            first_sequence: entry.first_sequence().map(Sequence::get),
            last_sequence: entry.last_sequence.map(Sequence::get),
            last_offset: entry.last_offset.map(|Offset(offset)| offset),
            offset_delta: entry.offset_delta,
            timestamp: entry.timestamp,
        };
        self.line("snapshotEntry", fields)
    }

    fn text_entry(&mut self, entry: &TextEntry) -> io::Result<()> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase", rename_all_fields = "camelCase", untagged)]
        enum Fields<'a> {
            Offset { topic: &'a str, partition: i32, offset: i64 },
            LeaderEpoch { leader_epoch: i32, start_offset: i64 },
            Property { name: &'a str, value: &'a str },
        }
        match entry {
            TextEntry::Offset { topic, partition, offset: Offset(offset) } => {
                let fields = Fields::Offset { topic, partition: *partition, offset: *offset };
                self.line("offsetCheckpointEntry", fields)
            }
            TextEntry::LeaderEpoch {
                leader_epoch: LeaderEpoch(leader_epoch),
                start_offset: Offset(offset),
            } => {
                let fields = Fields::LeaderEpoch { leader_epoch: *leader_epoch, start_offset: *offset };
                self.line("leaderEpochEntry", fields)
            }
            TextEntry::Property { name, value } => self.line("property", Fields::Property { name, value }),
        }
    }
}

/// Bytes as `{"text": …}` or `{"base64": …}`.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match std::str::from_utf8(self.0) {
            Ok(text) => map.serialize_entry("text", text)?,
            Err(_) => map.serialize_entry("base64", &base64::prelude::BASE64_STANDARD.encode(self.0))?,
        }
        map.end()
    }
}

/// The headers in their order; names may repeat.
struct HeaderList<'r, 'a>(&'r Record<'a>);

impl Serialize for HeaderList<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Header<'a> {
            key: Bytes<'a>,
            value: Option<Bytes<'a>>,
        }
        let mut list = serializer.serialize_seq(None)?;
        for header in self.0.headers.iter() {
            list.serialize_element(&Header { key: Bytes(header.key), value: header.value.map(Bytes) })?;
        }
        list.end()
    }
}

struct DecodedRecord<'r, 'a>(&'r Decoded<'a>);

impl Serialize for DecodedRecord<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            Decoded::Coordinator(record) => {
                map.serialize_entry("name", record.name)?;
                map.serialize_entry("type", &record.record_type)?;
                map.serialize_entry("key", &Tree(&record.key))?;
                map.serialize_entry("version", &record.value.as_ref().map(|(version, _)| version))?;
                map.serialize_entry("value", &record.value.as_ref().map(|(_, value)| Tree(value)))?;
            }
            Decoded::Metadata(record) => {
                map.serialize_entry("name", record.name)?;
                map.serialize_entry("type", &record.record_type)?;
                map.serialize_entry("version", &record.version)?;
                map.serialize_entry("value", &Tree(&record.data))?;
            }
            Decoded::Failed(_, error) => map.serialize_entry("error", &error.to_string())?,
        }
        map.end()
    }
}

struct Control<'r, 'a>(&'r ControlText<'a>);

impl Serialize for Control<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            ControlText::EndTransaction { marker, coordinator_epoch } => {
                map.serialize_entry("endTxnMarker", marker)?;
                map.serialize_entry("coordinatorEpoch", coordinator_epoch)?;
            }
            ControlText::Quorum { control_type, value } => {
                map.serialize_entry("controlType", control_type)?;
                map.serialize_entry("value", &Tree(value))?;
            }
            ControlText::Unknown { control_type } => map.serialize_entry("controlType", control_type)?,
            ControlText::Unreadable => map.serialize_entry("controlType", &None::<i16>)?,
        }
        map.end()
    }
}

/// A decoded message: bytes in base 64, UUIDs in its URL form, as Kafka's converters have them.
struct Tree<'r, 'a>(&'r Value<'a>);

impl Serialize for Tree<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(truth) => serializer.serialize_bool(*truth),
            Value::Number(number) => serializer.serialize_i64(*number),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Uuid(bytes) => serializer.serialize_str(&BASE64_URL_SAFE_NO_PAD.encode(bytes)),
            Value::String(bytes) => serializer.serialize_str(&String::from_utf8_lossy(bytes)),
            Value::Bytes(bytes) => serializer.serialize_str(&BASE64_STANDARD.encode(bytes)),
            Value::Array(values) => serializer.collect_seq(values.iter().map(Tree)),
            Value::Struct(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (*name, Tree(value))))
            }
        }
    }
}

/// JSON without blanks, in which no character that a terminal could act on stands as itself.
struct Visible;

impl serde_json::ser::Formatter for Visible {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.bytes().all(|byte| byte < 0x7f) {
            return out.write_all(fragment.as_bytes());
        }
        for character in fragment.chars() {
            if is_visible(character) {
                out.write_all(character.encode_utf8(&mut [0; 4]).as_bytes())?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a character shows as itself: no control, no mark of direction, no filler.
fn is_visible(character: char) -> bool {
    !character.is_control()
        && !matches!(
            u32::from(character),
            0xad | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
                | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0
                | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff
        )
}
