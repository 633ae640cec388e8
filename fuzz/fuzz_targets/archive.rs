#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dedup_audit::testkit::promises::an_archive_is_listed(bytes));
