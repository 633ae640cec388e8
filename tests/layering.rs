//! Modules depend on each other in one direction: what a module uses stands before it.
//!
//! The order is that of the work (see the documentation of the crate). What is compared is every
//! path that begins with `crate::`, in `use` lines and elsewhere, tests included.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// From the bottom to the top. A module may use itself and what stands on an earlier line.
const LAYERS: &[&[&str]] = &[
    &["compared_by", "units", "error"],
    // Temporary files, for every stage that holds much.
    &["spill"],
    &["format"],
    &["input"],
    // Words of a finding: they stand here because the facts hold some of them.
    &["finding"],
    &["facts"],
    &["keys"],
    &["plan"],
    // Lists of keys that a user brings.
    &["expected"],
    &["candidates"],
    &["relations"],
    // Reads files, and what it says is plain values that the judgement takes.
    &["compare"],
    &["judgement"],
    &["report"],
    &["audit", "dump"],
    &["cli"],
];

/// What a layer must not use although it stands below: only `input` knows files, the judgement sees
/// no bytes, and words need nothing but units.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("finding", &["format", "input", "error"]),
    ("facts", &["input"]),
    ("relations", &["input"]),
    ("judgement", &["format", "input"]),
    ("report", &["input"]),
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn sources() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The top-level module that a file belongs to.
fn module_of(file: &Path) -> String {
    let inside = file.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The top-level modules that a source text names: `crate::x…` and `crate::{x…, y…}`.
fn used(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
    };
    let mut used = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        match path.trim_start().strip_prefix('{') {
            Some(list) => used.extend(top_level_items(list).map(name)),
            None => _ = used.insert(name(path)),
        }
    }
    // Macros and items of the root itself are no modules.
    used.retain(|name| layer(name).is_some());
    used
}

/// The items of a `{…}` list, up to its closing brace; braces inside stay with their item.
fn top_level_items(list: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut start, mut items) = (0_u32, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.into_iter()
}

/// Why `module` must not use `other`, if so.
fn objection(module: &str, other: &str) -> Option<String> {
    if module == other {
        return None;
    }
    if layer(other) >= layer(module) {
        return Some(format!("{module} uses {other}, which stands behind it"));
    }
    let forbidden = FORBIDDEN.iter().any(|(name, others)| *name == module && others.contains(&other));
    forbidden.then(|| format!("{module} uses {other}, which is none of its business"))
}

#[test]
fn dependencies_between_modules_go_one_way() {
    let mut bad = Vec::new();
    for file in sources() {
        let module = module_of(&file);
        // The root names all modules, `main` may use all, and builders for tests stand outside.
        if ["lib", "main", "testkit"].contains(&module.as_str()) {
            continue;
        }
        assert!(layer(&module).is_some(), "{}: give {module} a place in LAYERS", file.display());
        let text = std::fs::read_to_string(&file).unwrap();
        for objection in used(&text).iter().filter_map(|other| objection(&module, other)) {
            bad.push(format!("{}: {objection}", file.display()));
        }
    }
    assert!(bad.is_empty(), "\n{}", bad.join("\n"));
}

#[test]
fn an_arrow_that_goes_backwards_is_seen_however_it_is_written() {
    let names = |text: &str| used(text).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(names("use crate::report::Table;"), "report");
    assert_eq!(names("let x = crate::audit::run(crate::units::Offset(1));"), "audit units");
    assert_eq!(
        names("use crate::{\n    facts::{Gap, Span},\n    format,\n};\nuse std::{fmt};"),
        "facts format"
    );
    assert_eq!(names("// crate::report decides nothing\nuse crate::error::AuditError;"), "error");
    assert!(objection("facts", "report").is_some());
    assert!(objection("judgement", "format").is_some());
    assert!(objection("judgement", "relations").is_none());
}
