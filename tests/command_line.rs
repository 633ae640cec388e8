//! What is around the commands: completions, manual pages, a configuration, colour, help, talk.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

fn data(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario).join("data")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = tool().args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let output = tool().args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    text(&output.stderr)
}

const COMMANDS: [&str; 15] = [
    "scan",
    "reconcile",
    "compare",
    "offsets",
    "trace",
    "render",
    "show",
    "diff",
    "producers",
    "keys",
    "dump",
    "explain",
    "schema",
    "completions",
    "man",
];

#[test]
fn shells_learn_all_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = printed(&["completions", shell]);
        for name in COMMANDS.iter().chain(&["headers-only", "io-limit"]) {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    assert!(refused(&["completions", "csh"]).contains("bash"));
}

#[test]
fn every_command_has_a_page_of_its_own() {
    let page = printed(&["man", "scan"]);
    assert!(page.contains(".TH") && page.contains("max\\-memory") && page.contains("Exit status"), "{page}");
    assert!(printed(&["man"]).contains("resend\\-new\\-session"));
    assert!(refused(&["man", "scna"]).contains("the commands are"));
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    printed(&["man", "--dir", dir]);
    for name in COMMANDS {
        assert!(folder.path().join(format!("dedup-audit-{name}.1")).is_file(), "{name}");
    }
    assert!(folder.path().join("dedup-audit.1").is_file());
    // What is there is not overwritten unless that is asked for.
    assert!(refused(&["man", "--dir", dir]).contains("dedup-audit"));
    printed(&["man", "--dir", dir, "--force"]);
}

#[test]
fn options_may_stand_in_a_file_and_what_is_typed_wins() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("audit.toml");
    std::fs::write(&config, "[scan]\nheaders-only = true\nformat = \"json\"\nexit-zero = true\n").unwrap();
    let config = config.to_str().unwrap();
    let data = data("crash-restart-resend");
    let data = data.to_str().unwrap();
    let report = printed(&["--config", config, "scan", data]);
    assert!(report.contains("\"headersOnly\": true"), "{report}");
    assert!(!printed(&["scan", data, "--config", config, "--format", "table"]).starts_with('{'));
    std::fs::write(config, "[scan]\nheader-only = true\n").unwrap();
    assert!(refused(&["scan", data, "--config", config]).contains("did you mean headers-only?"));
    assert!(refused(&["scan", data, "--config", "nowhere.toml"]).contains("nowhere.toml"));
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let data = data("mixed-incident");
    let scan = |more: &[&str], variables: &[(&str, &str)]| {
        let mut command = tool();
        command.arg("scan").arg(&data).args(more).envs(variables.iter().copied());
        text(&command.output().unwrap().stdout)
    };
    let plain = scan(&[], &[]);
    assert!(!plain.contains('\x1b'));
    let coloured = scan(&["--color", "always"], &[]);
    assert!(coloured.contains("\x1b[1;31mHIGH\x1b[0m"), "{coloured}");
    let without: String = coloured
        .split('\x1b')
        .enumerate()
        .map(|(at, part)| match at {
            0 => part,
            _ => part.split_once('m').unwrap().1,
        })
        .collect();
    assert_eq!(without, plain);
    assert_eq!(scan(&[], &[("CLICOLOR_FORCE", "1")]), coloured);
    assert_eq!(scan(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]), plain);
    assert_eq!(scan(&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), plain);
    assert!(!scan(&["--color", "always", "--format", "json"], &[]).contains('\x1b'));
}

#[test]
fn tables_tell_times_in_the_zone_and_json_does_not() {
    let data = data("crash-restart-resend");
    let scan = |more: &[&str]| text(&tool().arg("scan").arg(&data).args(more).output().unwrap().stdout);
    let utc = scan(&[]);
    assert!(utc.contains("16:01:24.244 – 16:01:24.343 UTC"), "{utc}");
    let there = scan(&["--tz", "Asia/Kolkata"]);
    assert!(there.contains("21:31:24.244 – 21:31:24.343 UTC+05:30"), "{there}");
    assert_eq!(scan(&["--format", "json"]), scan(&["--format", "json", "--tz", "Asia/Kolkata"]));
    // What the judgement says of times is told there as well.
    let words = there.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("with times 2026-11-29 21:31:24.244 – 21:31:24.402 UTC+05:30"), "{there}");
    for form in ["table", "md"] {
        let there = scan(&["--format", form, "--tz", "Asia/Kolkata", "--timeline"]);
        assert!(there.contains("21:31:24") && !there.contains("16:01:24"), "{form}: {there}");
    }
    let page = scan(&["--format", "html", "--tz", "Asia/Kolkata"]);
    assert!(
        page.contains(r#""zone":{"name":"Asia/Kolkata","offsets":[[0,19800]"#),
        "the page knows the zone"
    );
}

#[test]
fn other_commands_tell_times_in_the_zone_as_well() {
    let told = |arguments: &[&str]| {
        let output = tool().args(arguments).args(["--tz", "Asia/Kolkata"]).output().unwrap();
        text(&output.stdout)
    };
    let data = |set: &str| data(set).display().to_string();
    let trace = told(&["trace", "order-0042", &data("crash-restart-resend")]);
    assert!(trace.contains("21:31:23.337 ") && !trace.contains("16:01:2"), "{trace}");
    let producers = told(&["producers", &data("crash-restart-resend")]);
    assert!(producers.contains("21:31:22.996 – 21:31:23.408 UTC+05:30"), "{producers}");
    let offsets = told(&["offsets", &data("offsets-topic")]);
    assert!(offsets.contains("went back from 16 to 8 at 2026-11-29 21:12:01.395"), "{offsets}");
    assert!(!offsets.contains("15:42:0"), "{offsets}");
}

#[test]
fn talk_is_on_standard_error_and_as_much_as_was_asked_for() {
    let data = data("crash-restart-resend");
    let scan = |more: &[&str]| -> Output { tool().arg("scan").arg(&data).args(more).output().unwrap() };
    let usual = scan(&[]);
    assert!(usual.stderr.is_empty());
    let verbose = scan(&["-v"]);
    assert!(text(&verbose.stderr).contains("dedup-audit: read "), "{}", text(&verbose.stderr));
    assert_eq!(verbose.stdout, usual.stdout);
    assert!(scan(&["--quiet"]).stderr.is_empty());
    assert_eq!(scan(&["--quiet", "-v"]).status.code(), Some(2));
}

#[test]
fn help_begins_with_examples_and_typos_are_met_with_suggestions() {
    assert!(printed(&["--help"]).starts_with("Examples:\n  dedup-audit "));
    for command in COMMANDS {
        let help = printed(&[command, "--help"]);
        let (examples, _) = help.split_once("\n\n").unwrap();
        assert!(examples.starts_with("Examples:\n  dedup-audit "), "{command}: {help}");
        assert!(
            examples.contains(&format!("dedup-audit {command} ")) || command == "schema",
            "{command}: {help}"
        );
    }
    for (typed, meant) in [("tace", "'trace'"), ("ofsets", "'offsets'"), ("recon", "'reconcile'")] {
        assert!(refused(&[typed, "x"]).contains(meant), "{typed}");
    }
    assert!(refused(&["schema", "tarce"]).contains("'trace'"));
    // A path where a command should stand, a key behind its paths, a pointer without its slash.
    let data = data("crash-restart-resend").display().to_string();
    assert!(refused(&[&data]).contains(&format!("dedup-audit scan {data}")));
    assert!(refused(&["trace", &data, "order-0042"]).contains(&format!("trace order-0042 {data}")));
    assert!(refused(&["scan", &data, "--key", "json:order.id"]).contains("write /order/id"));
    assert!(
        refused(&["scan", &data, "-o", "/nowhere/x.json"]).contains("the directory /nowhere is not there")
    );
    assert!(refused(&["dump", &data]).contains("audit it with scan"));
    assert!(refused(&["scn", "x"]).contains("'scan'"));
    assert!(refused(&["scan", "x", "--header-only"]).contains("--headers-only"));
}
