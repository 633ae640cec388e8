#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dedup_audit::testkit::promises::a_document_is_read_alike(bytes));
