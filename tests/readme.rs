//! What the documents say is so: README.md and docs/keys.md show what the tool prints, README.md names every finding code,
//! CONTRIBUTING.md says why each dependency is there.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::finding::Code;
use std::path::Path;
use std::process::Command;

fn text(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Documents that show commands with what they print.
const SHOWING: [&str; 2] = ["README.md", "docs/keys.md"];

/// The commands of a document that run this tool, each with the output that is shown below it.
fn examples(readme: &str) -> Vec<(Vec<String>, String)> {
    readme
        .split("```console\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .filter_map(|block| {
            let (command, output) = block.split_once('\n')?;
            let arguments = command.strip_prefix("$ cargo run --release -- ")?;
            Some((arguments.split_whitespace().map(str::to_owned).collect(), output.to_owned()))
        })
        .collect()
}

/// `UPDATE_README=1 cargo test --test readme` writes what the tool prints now into the documents; read
/// the change before it is committed.
#[test]
fn the_examples_print_what_the_documents_show() {
    for name in SHOWING {
        let document = text(name);
        let examples = examples(&document);
        assert!(!examples.is_empty(), "{name} shows no command with its output");
        let mut updated = document.clone();
        for (arguments, shown) in &examples {
            let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
                .args(arguments)
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            if std::env::var_os("UPDATE_README").is_none() {
                let same = printed == *shown;
                assert!(
                    same,
                    "{name} shows another text; UPDATE_README=1 cargo test --test readme writes:\n{printed}"
                );
            }
            let fence = |output: &str| format!("-- {}\n{output}```", arguments.join(" "));
            updated = updated.replace(&fence(shown), &fence(&printed));
        }
        if updated != document {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), updated).unwrap();
        }
    }
}

#[test]
fn every_finding_code_is_explained_once_with_its_severity() {
    let readme = text("README.md");
    let rows: Vec<(&str, &str)> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|row| {
            let (code, rest) = row.split_once("` |")?;
            Some((code, rest.trim_end_matches('|').rsplit('|').next()?.trim()))
        })
        .collect();
    let severities: Vec<String> = Code::ALL.iter().map(|code| code.severity().to_string()).collect();
    let codes: Vec<(&str, &str)> = Code::ALL
        .iter()
        .map(dedup_audit::finding::Code::name)
        .zip(severities.iter().map(String::as_str))
        .collect();
    assert_eq!(rows, codes);
}

/// The crates that Cargo.toml names below `[dependencies]` and the like.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut wanted = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            wanted = line.trim_end_matches(']').ends_with("dependencies");
        } else if let Some((name, _)) = line.split_once('=').filter(|_| wanted && !line.starts_with('#')) {
            names.push(name.split('.').next().unwrap().trim());
        }
    }
    names
}

#[test]
fn contributing_says_why_each_dependency_is_there() {
    let (manifest, contributing) = (text("Cargo.toml"), text("CONTRIBUTING.md"));
    let names = dependencies(&manifest);
    assert!(names.contains(&"serde") && names.contains(&"tempfile"), "{names:?}");
    let unexplained: Vec<_> = names
        .iter()
        .filter(|name| **name != env!("CARGO_PKG_NAME") && !contributing.contains(&format!("`{name}`")))
        .collect();
    assert!(unexplained.is_empty(), "CONTRIBUTING.md does not say why they are here: {unexplained:?}");
}

#[test]
fn an_example_is_a_command_with_its_output() {
    let text = "a\n```console\n$ cargo run --release -- scan x --key value\none\n\ntwo\n```\n```console\n$ cargo test\n```\n";
    let scan = ["scan", "x", "--key", "value"].map(str::to_owned).to_vec();
    assert_eq!(examples(text), vec![(scan, "one\n\ntwo\n".to_owned())]);
}
