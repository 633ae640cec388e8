//! What the documents say is so: the examples in README.md and docs/ show what the tool prints, README.md and
//! docs/findings.md name every finding code, links lead somewhere, CONTRIBUTING.md says why each dependency is there.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::finding::Code;
use std::path::Path;
use std::process::Command;

fn text(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Documents that show commands with what they print.
const SHOWING: [&str; 7] = [
    "README.md",
    "docs/compare.md",
    "docs/evidence.md",
    "docs/findings.md",
    "docs/keys.md",
    "docs/offsets.md",
    "docs/paged.md",
];

/// A command of a document that runs this tool, with what is shown below it.
#[derive(Debug, PartialEq)]
struct Example<'d> {
    /// The document from the fence on to the end of the output.
    block: &'d str,
    /// Everything of it in front of the output.
    before: &'d str,
    /// The finding that is shown alone, where the fence names one: `console offset-gap`.
    only: &'d str,
    arguments: Vec<&'d str>,
    output: &'d str,
}

fn examples(document: &str) -> Vec<Example<'_>> {
    document
        .split("```console")
        .skip(1)
        .filter_map(|rest| {
            let block = rest.split("```").next()?;
            let (only, lines) = block.split_once('\n')?;
            let (command, output) = lines.split_once('\n')?;
            let arguments = ["$ cargo run --release -- ", "$ dedup-audit "]
                .iter()
                .find_map(|program| command.strip_prefix(program))?;
            let before = block.strip_suffix(output)?;
            let arguments = arguments.split_whitespace().collect();
            Some(Example { block, before, only: only.trim(), arguments, output })
        })
        .collect()
}

impl Example<'_> {
    fn printed(&self) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
            .args(&self.arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        if self.only.is_empty() { printed } else { finding(&printed, self.only) }
    }
}

/// The first finding of this code in a table.
fn finding(table: &str, code: &str) -> String {
    let begins = |line: &&str| !line.starts_with(' ') && line.split_whitespace().nth(1) == Some(code);
    let mut lines = table.lines().skip_while(|line| !begins(line));
    let mut shown: Vec<&str> = lines.next().into_iter().collect();
    shown.extend(lines.take_while(|line| line.starts_with(' ')));
    // Each line has its end.
    shown.push("");
    shown.join("\n")
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
        for example in &examples {
            let printed = example.printed();
            assert!(!printed.is_empty(), "{name}: nothing to show of {example:?}");
            if std::env::var_os("UPDATE_README").is_none() {
                let same = printed == example.output;
                assert!(
                    same,
                    "{name} shows another text; UPDATE_README=1 cargo test --test readme writes:\n{printed}"
                );
            }
            updated = updated.replace(example.block, &format!("{}{printed}", example.before));
        }
        if updated != document {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), updated).unwrap();
        }
    }
}

#[test]
fn every_finding_code_has_a_section_with_an_example_of_its_own() {
    let document = text("docs/findings.md");
    let sections: Vec<(&str, &str)> =
        document.split("\n### `").skip(1).map(|section| section.split_once('`').unwrap()).collect();
    let names: Vec<&str> = sections.iter().map(|(code, _)| *code).collect();
    let all: Vec<&str> = Code::ALL.iter().map(dedup_audit::finding::Code::name).collect();
    assert_eq!(names, all);
    for (code, section) in sections {
        let shown = examples(section).iter().any(|example| example.only == code);
        // What no directory of testdata/ holds is said to be so.
        let words: Vec<&str> = section.split_whitespace().collect();
        assert!(shown || words.join(" ").contains("No directory in `testdata/`"), "{code} has no example");
    }
}

/// Links of a document to files of the repository.
fn links(document: &str) -> Vec<&str> {
    document
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(link, _)| link.split('#').next().unwrap())
        .filter(|link| !link.is_empty() && !link.contains("://"))
        .collect()
}

#[test]
fn links_lead_to_files_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documents = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let documents = documents.chain([root.join("README.md"), root.join("CONTRIBUTING.md")]);
    for path in documents.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let document = std::fs::read_to_string(&path).unwrap();
        for link in links(&document) {
            assert!(path.parent().unwrap().join(link).exists(), "{}: {link} is not there", path.display());
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
    let text = "a\n```console\n$ cargo run --release -- scan x --key value\none\n\ntwo\n```\n```console\n$ cargo test\n```\n\
                ```console offset-gap\n$ dedup-audit scan y\nHIGH  offset-gap\n```\n";
    let found: Vec<_> = examples(text).into_iter().map(|one| (one.only, one.arguments, one.output)).collect();
    assert_eq!(
        found,
        [
            ("", vec!["scan", "x", "--key", "value"], "one\n\ntwo\n"),
            ("offset-gap", vec!["scan", "y"], "HIGH  offset-gap\n"),
        ]
    );
    let table = "head\n\nHIGH  a  likely\n  one\nLOW  offset-gap  sure\n  two\n  three\n\nCoverage\n";
    assert_eq!(finding(table, "offset-gap"), "LOW  offset-gap  sure\n  two\n  three\n");
    assert_eq!(finding(table, "b"), "");
}
