//! What `format` and `keys` promise for any bytes, as functions that panic when it does not hold.
//!
//! They are what the fuzz targets run, and their corpus runs through them as a plain test.

use crate::format::control::ControlRecord;
use crate::format::internal::consumer_offsets::Releases;
use crate::format::internal::{
    cluster_metadata, consumer_offsets, quorum, share_group_state, transaction_state,
};
use crate::format::{
    Batch, Codec, Decompressor, Limits, OffsetIndex, SegmentItem, SegmentScanner, TailExpectation, TimeIndex,
    TransactionIndex, producer_snapshot,
};
use crate::keys::json::{self, JsonPointer, Member};
use crate::units::Offset;

/// Enough for every honest batch of a corpus, and soon reached by a dishonest one.
const LIMIT: usize = 1 << 20;

/// Scans the bytes as a segment: the items follow each other without a hole, each takes at least
/// one byte, the last ends with the file, and every record can be asked for.
///
/// # Panics
/// When one of these does not hold.
pub fn a_segment_is_tiled(bytes: &[u8]) {
    let scanners = [
        SegmentScanner::new(bytes, Offset(0), TailExpectation::MayBeTorn),
        SegmentScanner::new(bytes, Offset(0), TailExpectation::MustBeWhole).before(Offset(1000)),
        SegmentScanner::unnamed(bytes, TailExpectation::MayBeTorn),
    ];
    let mut decompressor =
        Decompressor::with_limits(Limits { batch_bytes: LIMIT, headers: u32::MAX, header_name: usize::MAX });
    for mut scanner in scanners {
        let mut end = 0;
        while let Some(item) = scanner.next_item().expect("memory can be read") {
            let (position, length) = match &item {
                SegmentItem::Batch(batch) => {
                    read(batch, &mut decompressor);
                    (batch.position, batch.bytes.len() as u64)
                }
                SegmentItem::Suspect(suspect) => {
                    read(&suspect.batch, &mut decompressor);
                    assert_eq!(suspect.batch.position, suspect.damage.position);
                    assert_eq!(suspect.batch.bytes.len() as u64, suspect.damage.length);
                    (suspect.damage.position, suspect.damage.length)
                }
                SegmentItem::Damage(damage) => (damage.position, damage.length),
            };
            assert_eq!(position.0, end, "a hole or an overlap before {item:?}");
            assert!(length > 0, "no progress at {item:?}");
            end += length;
        }
        assert_eq!(end, bytes.len() as u64, "the end is missing");
    }
}

/// Takes the bytes for an archive: every file lies in it, and no name leads out of it.
///
/// # Panics
/// When one of these does not hold.
pub fn an_archive_is_listed(bytes: &[u8]) {
    is_listed(bytes);
    // With checksums that are right, so that mutations get past them.
    let mut repaired = bytes.to_vec();
    for header in repaired.chunks_exact_mut(512) {
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    }
    is_listed(&repaired);
}

fn is_listed(bytes: &[u8]) {
    for (name, start, len) in crate::input::files_of_archive(bytes).unwrap_or_default() {
        assert!(start.checked_add(len).is_some_and(|end| end <= bytes.len() as u64) || len == 0, "{name}");
        assert!(name.split('/').all(|part| part != ".."), "{name}");
    }
}

/// Makes the bytes a batch, with the right length, magic and checksum, and reads it: it is taken
/// for what it is, and its records stay within it.
///
/// # Panics
/// When one of these does not hold.
pub fn a_batch_is_read(bytes: &[u8]) {
    let mut batch = bytes.to_vec();
    if batch.len() < 61 {
        return;
    }
    repair(&mut batch);
    a_segment_is_tiled(&batch);
}

/// Reads the bytes as a producer snapshot, with and without a repaired checksum, and as each kind of
/// index: entries take their bytes, and no more come out than the file can hold.
///
/// # Panics
/// When one of these does not hold.
pub fn a_side_file_is_read(bytes: &[u8]) {
    let mut repaired = bytes.to_vec();
    if repaired.len() >= producer_snapshot::HEADER_LENGTH {
        repaired[..2].copy_from_slice(&producer_snapshot::VERSION.to_be_bytes());
        let checksum = crc32c::crc32c(&repaired[6..]);
        repaired[2..6].copy_from_slice(&checksum.to_be_bytes());
    }
    for file in [bytes, &repaired[..]] {
        if let Ok(entries) = producer_snapshot::read(file) {
            assert!(entries.len() * producer_snapshot::ENTRY_LENGTH < file.len());
        }
    }
    let mut offsets = OffsetIndex::new(bytes, Offset(i64::MAX));
    let entries = std::iter::from_fn(|| offsets.next_entry().expect("memory can be read")).count();
    assert!(entries * 8 <= bytes.len());
    let mut times = TimeIndex::new(bytes, Offset(i64::MIN));
    let entries = std::iter::from_fn(|| times.next_entry().expect("memory can be read")).count();
    assert!(entries * 12 <= bytes.len());
    let mut transactions = TransactionIndex::new(bytes);
    let entries = std::iter::from_fn(|| transactions.next_entry().expect("memory can be read")).count();
    assert_eq!(entries, bytes.len() / 34);
}

/// Reads the bytes as records of each internal topic; the first byte says how many bytes the key
/// has. What can be read can be written as JSON.
///
/// # Panics
/// When that does not hold.
pub fn an_internal_record_is_read(bytes: &[u8]) {
    let Some((&length, bytes)) = bytes.split_first() else { return };
    let Some((key, value)) = bytes.split_at_checked(usize::from(length)) else { return };
    let mut json = String::new();
    for value in [Some(value), None] {
        let read = [
            consumer_offsets::read(Some(key), value, Releases::All),
            share_group_state::read(Some(key), value),
            transaction_state::read(Some(key), value),
        ];
        for record in read.into_iter().flatten() {
            record.key.write_json(&mut json);
            if let Some((_, value)) = record.value {
                value.write_json(&mut json);
            }
        }
        _ = consumer_offsets::read_change(Some(key), value);
        _ = transaction_state::TransactionalIds::default().fold(Offset(0), Some(key), value);
        if let Ok(record) = cluster_metadata::read(value) {
            record.data.write_json(&mut json);
        }
        _ = cluster_metadata::ClusterMetadata::default().fold(Offset(0), 0, value);
    }
    for control_type in 0..8 {
        if let Ok(Some(value)) = quorum::read(control_type, value) {
            value.write_json(&mut json);
        }
    }
}

/// Reads the bytes as a JSON document: the quick way to a member, to all of them and to what is left without some
/// says what a parser says. The first byte says how many bytes of pointers there are, one a line.
///
/// # Panics
/// When this does not hold.
pub fn a_document_is_read_alike(bytes: &[u8]) {
    let Some((&length, bytes)) = bytes.split_first() else { return };
    let Some((pointers, document)) = bytes.split_at_checked(usize::from(length)) else { return };
    let pointers: Vec<JsonPointer> =
        String::from_utf8_lossy(pointers).lines().filter_map(|line| line.parse().ok()).collect();
    for pointer in &pointers {
        if let Ok(Some(Member::Other(raw))) = json::member(document, pointer) {
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok(), "{pointer} is no value");
        }
    }
    json::both_ways_agree(document, &pointers, 1 + usize::from(length) / 8);
}

/// Decompresses the bytes behind the first, which chooses codec and format: no more comes out than
/// the limit.
///
/// # Panics
/// When this does not hold.
pub fn a_codec_keeps_its_bounds(bytes: &[u8]) {
    let Some((&choice, area)) = bytes.split_first() else { return };
    let codec = Codec::from_attributes(i16::from(choice & 7)).unwrap_or(Codec::Lz4);
    let limit = if choice & 0x80 == 0 { LIMIT } else { area.len() };
    let mut decompressor = Decompressor::with_limits(Limits { batch_bytes: limit, ..Limits::default() });
    for _ in 0..2 {
        if let Ok(clear) = decompressor.decompress(codec, area) {
            assert!(codec == Codec::None || clear.len() <= limit, "{} bytes came out", clear.len());
        }
    }
}

/// Sets length, magic and checksum of a batch of at least 61 bytes. The lowest bits of the stored
/// magic choose the format.
///
/// # Panics
/// When the batch is shorter.
pub fn repair(batch: &mut [u8]) {
    let length = i32::try_from(batch.len() - 12).expect("short").to_be_bytes();
    batch[8..12].copy_from_slice(&length);
    let magic = batch[16] % 3;
    batch[16] = magic;
    if magic == 2 {
        let crc = crc32c::crc32c(&batch[21..]).to_be_bytes();
        batch[17..21].copy_from_slice(&crc);
    } else {
        let crc = crc32fast::hash(&batch[16..]).to_be_bytes();
        batch[12..16].copy_from_slice(&crc);
    }
}

fn read(batch: &Batch<'_>, decompressor: &mut Decompressor) {
    let mut left = LIMIT.max(batch.bytes.len());
    let is_control = batch.header.is_control();
    let read = batch.for_each_record(decompressor, |record| {
        // A record takes at least 7 bytes of what came out.
        left = left.checked_sub(7).expect("more records than bytes");
        let headers = record.headers.iter().count();
        assert_eq!(headers, record.headers.count() as usize, "headers were checked");
        if is_control {
            let _ = ControlRecord::read(record);
        }
    });
    if let Err(error) = read {
        let damage = batch.records_damage(&error);
        assert_eq!(damage.length, batch.bytes.len() as u64);
    }
}
