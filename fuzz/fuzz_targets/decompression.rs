#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dedup_audit::testkit::promises::a_codec_keeps_its_bounds(bytes));
