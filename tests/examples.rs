//! The programs in examples/ that show how the library is used do what they say.

#[expect(dead_code, reason = "main is for people")]
#[path = "../examples/audit_directory.rs"]
mod audit_directory;
#[expect(dead_code, reason = "main is for people")]
#[path = "../examples/walk_batches.rs"]
mod walk_batches;

use std::path::PathBuf;

fn data(set: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "testdata/brokers/4.3.1", set, "data"].iter().collect()
}

#[test]
fn an_audit_by_library_says_what_scan_says() {
    let mut said = Vec::new();
    audit_directory::run(vec![data("crash-restart-resend")], &mut said).unwrap();
    let said = String::from_utf8(said).unwrap();
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("20 events of topic orders are stored twice"), "{said}");
    assert_eq!(
        lines[1..3],
        [
            "high resend-new-session (likely): 20 records of orders were sent again by a later producer session",
            "  20 keys, 20 surplus records",
        ]
    );
    assert!(lines.contains(&"  order-0042  orders-0@20  orders-0@30"), "{said}");
}

#[test]
fn a_walk_goes_on_behind_damage() {
    let (mut whole, mut damaged) = (Vec::new(), Vec::new());
    walk_batches::run(&[data("bit-rot-twin")], &mut whole).unwrap();
    walk_batches::run(&[data("bit-rot-payload")], &mut damaged).unwrap();
    let [whole, damaged] = [whole, damaged].map(|said| String::from_utf8(said).unwrap());
    assert!(!whole.contains(" bytes: "), "{whole}");
    let hit = damaged.lines().filter(|line| line.contains(" bytes: ")).count();
    assert!(hit > 0);
    assert_eq!(damaged.lines().count(), whole.lines().count(), "each damaged batch is one line");
}
