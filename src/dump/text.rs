//! The text of Kafka's dump tool, release 4.3, as it is with `--print-data-log`.

use super::Audience;
use super::decoder::{InternalTopic, upper_snake};
use super::file_kind::FileKind;
use super::kafka_text::{push, push_text};
use super::line::Line;
use super::printer::{
    Checksum, ControlText, Decoded, PrintedBatch, PrintedRecord, Printer, RestOfFile, TextEntry,
};
use crate::format::internal::InternalError;
use crate::format::{
    AbortedTransaction, Damage, DamageKind, OffsetIndexEntry, Record, SnapshotEntry, TimeIndexEntry,
};
use crate::units::{LeaderEpoch, Offset, ProducerEpoch, Sequence, Timestamp};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// Fewer zero bytes than this are a cut batch to Kafka's tool, more end it with an exception.
const SMALLEST_MESSAGE: u64 = 18;

/// Prints Kafka's text.
#[derive(Debug)]
pub(super) struct TextPrinter<'a, W> {
    out: &'a mut W,
    audience: Audience,
    line: Line,
}

impl<'a, W: Write> TextPrinter<'a, W> {
    pub(super) fn new(out: &'a mut W, audience: Audience) -> Self {
        Self { out, audience, line: Line::default() }
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.line.take(|bytes| self.out.write_all(bytes))
    }

    fn push_foreign(&mut self, bytes: &[u8]) {
        push(self.line.bytes(), bytes, self.audience);
    }

    fn push_path(&mut self, path: &Path) {
        push_text(self.line.bytes(), &path.to_string_lossy(), self.audience);
    }

    /// What Kafka's decoders print.
    fn push_decoded(&mut self, record: &Record<'_>, decoded: &Decoded<'_>) {
        let mut text = String::new();
        match decoded {
            Decoded::Coordinator(read) => {
                _ = write!(text, " key: {{\"type\":\"{}\",\"data\":", read.record_type);
                read.key.write_json(&mut text);
                text.push_str("} payload: ");
                match &read.value {
                    Some((version, value)) => {
                        _ = write!(text, "{{\"version\":\"{version}\",\"data\":");
                        value.write_json(&mut text);
                        text.push('}');
                    }
                    None => text.push_str("<DELETE>"),
                }
            }
            Decoded::Metadata(read) => {
                let (name, version) = (upper_snake(read.name), read.version);
                _ = write!(text, " payload: {{\"type\":\"{name}\",\"version\":{version},\"data\":");
                read.data.write_json(&mut text);
                text.push('}');
            }
            Decoded::Failed(InternalTopic::ClusterMetadata, error) => {
                _ = write!(text, " payload: Error at {}, skipping. {error}", record.offset);
            }
            Decoded::Failed(_, InternalError::UnknownType(number)) => {
                _ = write!(text, " key: Unknown record type {number} at offset {}, skipping.", record.offset);
            }
            Decoded::Failed(_, error) => {
                _ = write!(text, " key: Error at offset {}, skipping. {error}", record.offset);
            }
        }
        push_text(self.line.bytes(), &text, self.audience);
    }

    fn record_start(&mut self, batch: PrintedBatch<'_>, record: &Record<'_>) {
        let header = batch.header;
        self.line
            .text("| offset: ")
            .number(record.offset.0)
            .text(" ")
            .text(header.timestamp_type().name())
            .text(": ")
            .number(record.timestamp)
            .text(" keySize: ")
            .number(size(record.key))
            .text(" valueSize: ")
            .number(size(record.value));
        if header.is_legacy() {
            return;
        }
        self.line.text(" sequence: ").number(sequence(record.sequence)).text(" headerKeys: [");
        for (at, header) in record.headers.iter().enumerate() {
            if at > 0 {
                self.line.text(",");
            }
            self.push_foreign(header.key);
        }
        self.line.text("]");
    }
}

impl<W: Write> Printer for TextPrinter<'_, W> {
    fn file(&mut self, path: &Path, _name: &str, kind: FileKind) -> io::Result<()> {
        self.line.text("Dumping ");
        self.push_path(path);
        self.end_line()?;
        match kind {
            FileKind::Log { base: Some(base) } => self.line.text("Log starting offset: ").number(base.0),
            FileKind::Checkpoint { end_offset, leader_epoch } => self
                .line
                .text("Snapshot end offset: ")
                .number(end_offset.0)
                .text(", epoch: ")
                .number(leader_epoch.0),
            FileKind::BootstrapCheckpoint => self.line.text("KRaft bootstrap snapshot"),
            _ => return Ok(()),
        };
        self.end_line()
    }

    fn batch(&mut self, batch: PrintedBatch<'_>) -> io::Result<()> {
        let header = batch.header;
        if header.is_legacy() {
            self.line.text("offset: ").number(header.last_offset().0);
        } else {
            self.line
                .text("baseOffset: ")
                .number(header.base_offset.0)
                .text(" lastOffset: ")
                .number(header.last_offset().0)
                .text(" count: ")
                .count(header.records_count.unwrap_or(0).into())
                .text(" baseSequence: ")
                .number(sequence(header.base_sequence))
                .text(" lastSequence: ")
                .number(sequence(header.last_sequence()))
                .text(" producerId: ")
                .number(header.producer_id.0)
                .text(" producerEpoch: ")
                .number(header.producer_epoch.map_or(-1, |ProducerEpoch(epoch)| epoch))
                .text(" partitionLeaderEpoch: ")
                .number(header.partition_leader_epoch.map_or(-1, |LeaderEpoch(epoch)| epoch))
                .text(" isTransactional: ")
                .truth(header.is_transactional())
                .text(" isControl: ")
                .truth(header.is_control())
                .text(" deleteHorizonMs: ");
            push_optional(&mut self.line, header.delete_horizon().map(|Timestamp(horizon)| horizon));
        }
        self.line
            .text(" position: ")
            .count(batch.position.0)
            .text(" ")
            .text(header.timestamp_type().name())
            .text(": ")
            .number(header.max_timestamp)
            .text(" size: ")
            .count(batch.size)
            .text(" magic: ")
            .number(header.magic)
            .text(" compresscodec: ")
            .text(header.codec().map_or("unknown", crate::format::Codec::name))
            .text(" crc: ")
            .number(header.crc)
            .text(" isvalid: ")
            .truth(batch.checksum == Checksum::Right);
        self.end_line()
    }

    fn record(&mut self, batch: PrintedBatch<'_>, printed: PrintedRecord<'_, '_>) -> io::Result<()> {
        let record = printed.record;
        self.record_start(batch, record);
        if let Some(crc) = printed.message_crc {
            self.line.text(" isValid: ").truth(batch.checksum == Checksum::Right).text(" crc: ").number(crc);
        }
        if let Some(decoded) = printed.decoded {
            self.push_decoded(record, decoded);
            return self.end_line();
        }
        if let Some(key) = record.key {
            self.line.text(" key: ");
            self.push_foreign(key);
        }
        if let Some(value) = record.value {
            self.line.text(" payload: ");
            self.push_foreign(value);
        }
        self.end_line()
    }

    fn control(
        &mut self,
        batch: PrintedBatch<'_>,
        record: &Record<'_>,
        control: &ControlText<'_>,
    ) -> io::Result<()> {
        self.record_start(batch, record);
        match control {
            ControlText::EndTransaction { marker, coordinator_epoch } => {
                self.line
                    .text(" endTxnMarker: ")
                    .text(marker)
                    .text(" coordinatorEpoch: ")
                    .number(*coordinator_epoch);
            }
            ControlText::Quorum { control_type, value } => {
                // Kafka's tool has a colon behind the first of these names only.
                self.line.text(match control_type {
                    2 => " LeaderChange: ",
                    3 => " SnapshotHeader ",
                    4 => " SnapshotFooter ",
                    5 => " KRaftVersion ",
                    _ => " KRaftVoters ",
                });
                let mut json = String::new();
                value.write_json(&mut json);
                push_text(self.line.bytes(), &json, self.audience);
            }
            ControlText::Unknown { control_type } => {
                self.line.text(" controlType: UNKNOWN(").number(*control_type).text(")");
            }
            ControlText::Unreadable => {}
        }
        self.end_line()
    }

    fn damage(&mut self, name: &str, damage: &Damage, rest: RestOfFile) -> io::Result<()> {
        let dies_of_it = damage.kind == DamageKind::ZeroTail && damage.length >= SMALLEST_MESSAGE;
        if dies_of_it {
            return Ok(());
        }
        self.line.text("Found ").count(damage.length).text(" invalid bytes at ");
        match rest {
            RestOfFile::None => self.line.text("the end of "),
            // Kafka's tool ends here, so the words are ours.
            RestOfFile::Readable => self.line.text("position ").count(damage.position.0).text(" of "),
        };
        push_text(self.line.bytes(), name, self.audience);
        self.end_line()
    }

    fn empty_index(&mut self, path: &Path) -> io::Result<()> {
        self.push_path(path);
        self.line.text(" is empty.");
        self.end_line()
    }

    fn offset_entry(&mut self, entry: OffsetIndexEntry) -> io::Result<()> {
        self.line.text("offset: ").number(entry.offset.0).text(" position: ").number(entry.position);
        self.end_line()
    }

    fn time_entry(&mut self, entry: TimeIndexEntry) -> io::Result<()> {
        self.line.text("timestamp: ").number(entry.timestamp).text(" offset: ").number(entry.offset.0);
        self.end_line()
    }

    fn transaction_entry(&mut self, entry: AbortedTransaction) -> io::Result<()> {
        self.line
            .text("version: ")
            .number(entry.version)
            .text(" producerId: ")
            .number(entry.producer_id.0)
            .text(" firstOffset: ")
            .number(entry.first_offset.0)
            .text(" lastOffset: ")
            .number(entry.last_offset.0)
            .text(" lastStableOffset: ")
            .number(entry.last_stable_offset.0);
        self.end_line()
    }

    fn snapshot_entry(&mut self, entry: &SnapshotEntry) -> io::Result<()> {
        self.line
            .text("producerId: ")
            .number(entry.producer_id.0)
            .text(" producerEpoch: ")
            .number(entry.producer_epoch.map_or(-1, |ProducerEpoch(epoch)| epoch))
            .text(" coordinatorEpoch: ")
            .number(entry.coordinator_epoch.unwrap_or(-1))
            .text(" currentTxnFirstOffset: ");
        push_optional(&mut self.line, entry.current_txn_first_offset.map(|Offset(offset)| offset));
        self.line.text(" lastTimestamp: ").number(entry.timestamp);
        if let Some(last_offset) = entry.last_offset {
            self.line
                .text(" firstSequence: ")
                .number(sequence(entry.first_sequence()))
                .text(" lastSequence: ")
                .number(sequence(entry.last_sequence))
                .text(" lastOffset: ")
                .number(last_offset.0)
                .text(" offsetDelta: ")
                .number(entry.offset_delta)
                .text(" timestamp: ")
                .number(entry.timestamp);
        }
        self.end_line()
    }

    fn text_entry(&mut self, entry: &TextEntry) -> io::Result<()> {
        match entry {
            TextEntry::Offset { topic, partition, offset } => {
                self.line.text("topic: ");
                push_text(self.line.bytes(), topic, self.audience);
                self.line.text(" partition: ").number(*partition).text(" offset: ").number(offset.0);
            }
            TextEntry::LeaderEpoch { leader_epoch, start_offset } => {
                self.line.text("leaderEpoch: ").number(leader_epoch.0);
                self.line.text(" startOffset: ").number(start_offset.0);
            }
            TextEntry::Property { name, value } => {
                push_text(self.line.bytes(), name, self.audience);
                self.line.text(": ");
                push_text(self.line.bytes(), value, self.audience);
            }
        }
        self.end_line()
    }
}

/// The length of a key or value as Kafka prints it: −1 for null.
fn size(bytes: Option<&[u8]>) -> i64 {
    bytes.map_or(-1, |bytes| i64::try_from(bytes.len()).unwrap_or(i64::MAX))
}

fn sequence(sequence: Option<Sequence>) -> i32 {
    sequence.map_or(-1, Sequence::get)
}

/// Java's `OptionalLong.toString`.
fn push_optional(line: &mut Line, number: Option<i64>) {
    match number {
        None => line.text("OptionalLong.empty"),
        Some(number) => line.text("OptionalLong[").number(number).text("]"),
    };
}
