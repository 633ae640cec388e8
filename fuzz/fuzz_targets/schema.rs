#![no_main]

use dedup_audit_schemas::{Member, Schemas};
use std::path::Path;
use std::sync::LazyLock;

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    Schemas::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")).expect("schemas lie beside the targets")
});

// The first byte says how long the path is. No member is longer than the value that it came from.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&length, bytes)) = bytes.split_first() else { return };
    let Some((path, value)) = bytes.split_at_checked(usize::from(length)) else { return };
    let path: Vec<String> =
        String::from_utf8_lossy(path).split('/').skip(1).map(str::to_owned).collect();
    for found in [SCHEMAS.avro(value, &path), SCHEMAS.protobuf(value, &path)] {
        match found {
            Ok(Some(Member::Text(text))) => assert!(text.len() <= value.len().max("PAID".len())),
            Ok(Some(Member::Bytes(bytes))) => assert!(bytes.len() <= value.len()),
            _ => {}
        }
    }
});
