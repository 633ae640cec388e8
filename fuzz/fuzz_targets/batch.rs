#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dedup_audit::testkit::promises::a_batch_is_read(bytes));
