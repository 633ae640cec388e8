//! What the fuzz targets found, and what they begin with, as a plain test.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test stops where it fails, and names it")]

use dedup_audit::testkit::promises;
use std::fs;
use std::path::Path;

fn for_each_input(target: &str, promise: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let inputs: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!inputs.is_empty(), "{} is empty", directory.display());
    for input in inputs {
        println!("{}", input.display());
        promise(&fs::read(&input).unwrap());
    }
}

/// The input itself, cut anywhere, and with every byte replaced by what lengths are feared for.
fn with_every_flaw(bytes: &[u8], promise: fn(&[u8])) {
    for cut in 0..=bytes.len() {
        promise(&bytes[..cut]);
    }
    for at in 0..bytes.len() {
        for flaw in [0, 1, 0x7f, 0x80, 0xff] {
            let mut flawed = bytes.to_vec();
            flawed[at] = flaw;
            promise(&flawed);
        }
    }
}

#[test]
fn segments_are_tiled() {
    for_each_input("segment", promises::a_segment_is_tiled);
}

#[test]
fn batches_are_read() {
    for_each_input("batch", promises::a_batch_is_read);
}

#[test]
fn codecs_keep_their_bounds() {
    for_each_input("decompression", promises::a_codec_keeps_its_bounds);
}

#[test]
fn the_corpus_of_side_files_keeps_the_promises() {
    for_each_input("side_file", |bytes| with_every_flaw(bytes, promises::a_side_file_is_read));
}

#[test]
fn the_corpus_of_internal_records_keeps_the_promises() {
    for_each_input("internal_record", |bytes| with_every_flaw(bytes, promises::an_internal_record_is_read));
}

#[test]
fn archives_are_listed() {
    for_each_input("archive", |bytes| {
        promises::an_archive_is_listed(bytes);
        for at in 0..bytes.len().min(2048) {
            promises::an_archive_is_listed(&bytes[..at]);
            let mut flawed = bytes.to_vec();
            flawed[at] ^= 0x81;
            promises::an_archive_is_listed(&flawed);
        }
    });
}

#[test]
fn documents_are_read_alike() {
    for_each_input("document", |bytes| with_every_flaw(bytes, promises::a_document_is_read_alike));
}
