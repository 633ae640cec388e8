//! Writes what was played as a broker's log directory.

use crate::world::{Disk, Entry, Fault, Marker, Stored};
use dedup_audit::testkit::{SegmentBuilder, batch};
use std::fs;
use std::path::Path;

/// The partition directories of one log directory, with the checkpoints that they share.
pub fn write(root: &Path, logs: &[(String, &Disk)]) {
    let unclean = logs.iter().any(|(_, disk)| disk.unclean);
    let (mut starts, mut watermarks, mut cleaned) = (Vec::new(), Vec::new(), Vec::new());
    for (topic, disk) in logs {
        partition(&root.join(format!("{topic}-0")), disk);
        if disk.log_start > disk.segments[0].base {
            starts.push(format!("{topic} 0 {}", disk.log_start));
        }
        if disk.fault == Fault::None {
            watermarks.push(format!("{topic} 0 {}", disk.end));
        }
        cleaned.extend(disk.first_dirty.map(|dirty| format!("{topic} 0 {dirty}")));
    }
    let checkpoints = [
        ("log-start-offset-checkpoint", starts),
        ("replication-offset-checkpoint", watermarks),
        ("cleaner-offset-checkpoint", cleaned),
    ];
    for (name, lines) in checkpoints {
        fs::write(root.join(name), checkpoint(&lines)).unwrap();
    }
    fs::write(root.join("meta.properties"), "#\nnode.id=1\ncluster.id=model\nversion=1\n").unwrap();
    if !unclean {
        fs::write(root.join(".kafka_cleanshutdown"), "{\"version\":0,\"brokerEpoch\":1}").unwrap();
    }
}

fn checkpoint(lines: &[String]) -> String {
    let mut text = format!("0\n{}\n", lines.len());
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn partition(dir: &Path, disk: &Disk) {
    fs::create_dir_all(dir).unwrap();
    for (at, segment) in disk.segments.iter().enumerate() {
        let mut builder = SegmentBuilder::at(segment.base);
        for stored in &segment.batches {
            builder = append(builder, stored);
        }
        let places = builder.places().to_vec();
        let mut bytes = builder.bytes();
        for place in &places {
            if disk.fault == Fault::Flipped(place.base_offset) {
                bytes[place.position + place.length - 1] ^= 0x40;
            }
        }
        if disk.fault == Fault::Torn && at + 1 == disk.segments.len() {
            bytes.truncate(bytes.len() - 20);
        }
        fs::write(dir.join(format!("{:020}.log", segment.base)), bytes).unwrap();
    }
    if let Fault::LostSegment(base) = disk.fault {
        fs::write(dir.join(format!("{base:020}.index")), []).unwrap();
    }
    for (number, entries) in &disk.snapshots {
        fs::write(dir.join(format!("{number:020}.snapshot")), snapshot(entries)).unwrap();
    }
    let epochs: Vec<String> =
        disk.leader_epochs.iter().map(|(epoch, start)| format!("{epoch} {start}")).collect();
    fs::write(dir.join("leader-epoch-checkpoint"), checkpoint(&epochs)).unwrap();
}

fn append(builder: SegmentBuilder, stored: &Stored) -> SegmentBuilder {
    let builder = builder.skip_to(stored.base).time(stored.time).leader_epoch(stored.leader_epoch);
    if let Some(marker) = stored.marker {
        let kind = i16::from(marker == Marker::Commit);
        return builder.marker(kind, stored.producer_id, stored.producer_epoch, 0);
    }
    let mut spec =
        batch().producer(stored.producer_id, stored.producer_epoch, stored.base_sequence).time(stored.time);
    if stored.transactional {
        spec = spec.transactional();
    }
    let mut kept = Vec::new();
    for index in 0..usize::try_from(stored.length()).unwrap() {
        let content = stored.records.iter().find(|record| record.0 == index);
        kept.extend(content.map(|_| index));
        let content = content.map_or(0, |record| record.1);
        spec = spec.record_at(stored.time, format!("key-{content}"), format!("value {content}"));
    }
    builder.batch(if kept.len() == usize::try_from(stored.length()).unwrap() {
        spec
    } else {
        spec.kept(&kept)
    })
}

fn snapshot(entries: &[Entry]) -> Vec<u8> {
    let mut covered = u32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
    for entry in entries {
        covered.extend(entry.producer_id.to_be_bytes());
        covered.extend(entry.producer_epoch.to_be_bytes());
        covered.extend(entry.last_sequence.to_be_bytes());
        covered.extend(entry.last_offset.to_be_bytes());
        covered.extend(entry.offset_delta.to_be_bytes());
        covered.extend(entry.time.to_be_bytes());
        covered.extend(entry.coordinator_epoch.to_be_bytes());
        covered.extend(entry.transaction_first_offset.to_be_bytes());
    }
    let mut bytes = vec![0, 1];
    bytes.extend(crc32c::crc32c(&covered).to_be_bytes());
    bytes.extend(covered);
    bytes
}
