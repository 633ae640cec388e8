//! What the fuzz target of this crate begins with, and what it found, as a plain test.

use dedup_audit_schemas::{Member, Schemas, Undecoded};
use std::fs;
use std::path::Path;

type Found = Result<Option<Member>, Undecoded>;

/// What both formats make of an input: a byte for the length of the path, the path, the value.
fn found(schemas: &Schemas, input: &[u8]) -> Option<[Found; 2]> {
    let (&length, rest) = input.split_first()?;
    let (path, value) = rest.split_at_checked(usize::from(length))?;
    let path: Vec<String> = String::from_utf8_lossy(path).split('/').skip(1).map(str::to_owned).collect();
    Some([schemas.avro(value, &path), schemas.protobuf(value, &path)])
}

#[test]
fn every_flaw_is_withstood() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let schemas = Schemas::load(&fuzz.join("schemas")).unwrap();
    let mut told = 0;
    for entry in fs::read_dir(fuzz.join("corpus/schema")).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        told +=
            found(&schemas, &input).into_iter().flatten().filter(|one| matches!(one, Ok(Some(_)))).count();
        for cut in 0..input.len() {
            found(&schemas, &input[..cut]);
        }
        for at in 0..input.len() {
            for flaw in 0..=u8::MAX {
                let mut flawed = input.clone();
                flawed[at] = flaw;
                found(&schemas, &flawed);
            }
        }
    }
    assert!(told >= 4, "most of what the fuzzer begins with holds a field, {told} were told");
}
