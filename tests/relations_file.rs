//! Relations hold all that the judgement of duplicates needs: written to a file and read back, they
//! lead to the same findings.

use dedup_audit::audit::{self, AuditOptions};
use dedup_audit::judgement::duplicates::{self, Examples};
use dedup_audit::plan::KeyChoice;
use dedup_audit::relations::{self, Relations};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

fn audit_of(scenario: &str, key: &str) -> audit::Audit {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers").join(scenario).join("data");
    audit::run(&AuditOptions {
        key: KeyChoice::User(key.parse().expect("a key of this test")),
        threads: 2,
        examples: Examples::All,
        ..AuditOptions::over(vec![path])
    })
    .expect("the scenario can be audited")
}

#[test]
fn relations_from_a_file_lead_to_the_same_findings() {
    for (scenario, key) in [
        ("4.3.1/mixed-incident", "record-key"),
        ("4.3.1/mirrormaker2-kill-restart", "json:/eventId"),
        ("4.3.1/offsets-topic", "json:/invoiceFor"),
    ] {
        let relations = audit_of(scenario, key).relations;
        assert_eq!(relations.version, relations::VERSION);
        assert!(!relations.groups.is_empty(), "{scenario}");
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&serde_json::to_vec(&relations).unwrap()).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let read: Relations = serde_json::from_str(&text).unwrap();
        assert_eq!(read, relations, "{scenario}");
        let findings = duplicates::findings(&read, Examples::All);
        assert_eq!(findings, duplicates::findings(&relations, Examples::All), "{scenario}");
        assert!(!findings.is_empty(), "{scenario}");
    }
}
