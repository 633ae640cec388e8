#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dedup_audit::testkit::promises::a_side_file_is_read(bytes));
