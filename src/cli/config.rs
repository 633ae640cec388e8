//! `--config FILE`: options that are always the same, in TOML, a table for each command.
//!
//! ```toml
//! [scan]
//! key = "json:/payment/id"
//! topic = ["orders*", "payments"]
//! headers-only = false
//! ```
//!
//! Goes in: the command line. Comes out: the command line with the options of the file in front of
//! those that were typed, so that what was typed wins. A key that is no option of its command is
//! refused, because an option that does nothing unnoticed is worse than none.

use crate::error::AuditError;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use toml::{Table, Value};

/// Options whose values could be taken for the name of a command.
const WITH_VALUE: [&str; 2] = ["--config", "--color"];
/// How alike a mistyped name must be to be suggested.
const ALIKE: f64 = 0.7;

/// The command line with what the file says, where one is named.
///
/// # Errors
/// [`AuditError`] for a file that cannot be read, is no TOML, or names what does not exist.
pub(super) fn expand(arguments: Vec<OsString>, root: &Command) -> Result<Vec<OsString>, AuditError> {
    let Some(file) = file(&arguments) else { return Ok(arguments) };
    let text = std::fs::read_to_string(&file)
        .map_err(|source| AuditError::Unreadable { path: file.clone(), source })?;
    let wrong = |what: String| AuditError::Usage(format!("{}: {what}", file.display()));
    let tables: Table = text.parse().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
    for (name, table) in &tables {
        if !table.is_table() && root.find_subcommand(name).is_none() {
            let home = root.get_subcommands().find(|command| has(command, name));
            let home = home.map_or("scan", Command::get_name);
            return Err(wrong(format!(
                "{name} stands outside a table; put it below the command it is for: [{home}]"
            )));
        }
        let Some(command) = root.find_subcommand(name) else {
            let names = root.get_subcommands().map(Command::get_name);
            return Err(wrong(format!("[{name}] is no command{}", suggestion(name, names))));
        };
        // All of the file is checked, whatever is run: it is the same file tomorrow.
        options(command, table).map_err(&wrong)?;
    }
    let Some((at, command)) = called(&arguments, root) else { return Ok(arguments) };
    let Some(table) = tables.get(command.get_name()) else { return Ok(arguments) };
    let (before, behind) = arguments.split_at_checked(at + 1).unwrap_or((&arguments, &[]));
    Ok([before, &options(command, table).map_err(wrong)?, behind].concat())
}

/// Whether a command has an option of this name.
fn has(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_long() == Some(name))
}

/// The file and the table that hold the value which `error` is about, where it is one of the file's.
pub(super) fn origin(typed: &[OsString], root: &Command, error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    // `--key <KEY>`
    let (argument, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    let given = OsString::from(format!("{}={value}", argument.split(' ').next()?));
    let path = file(typed)?;
    let tables: Table = std::fs::read_to_string(&path).ok()?.parse().ok()?;
    let (_, command) = called(typed, root)?;
    let name = command.get_name();
    let of_file = options(command, tables.get(name)?).ok()?;
    of_file.contains(&given).then(|| format!("{}: [{name}]", path.display()))
}

/// The file that `--config` names.
fn file(arguments: &[OsString]) -> Option<PathBuf> {
    let ends = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let arguments = arguments.get(..ends)?;
    arguments.iter().enumerate().find_map(|(at, argument)| {
        if argument == "--config" {
            return arguments.get(at + 1).map(PathBuf::from);
        }
        argument.to_str().and_then(|text| text.strip_prefix("--config=")).map(PathBuf::from)
    })
}

/// Where the command stands, and which it is.
fn called<'c>(arguments: &[OsString], root: &'c Command) -> Option<(usize, &'c Command)> {
    let is_value = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| arguments.get(at));
        before.is_some_and(|before| WITH_VALUE.iter().any(|option| before == OsStr::new(option)))
    };
    let mut places = (1..arguments.len()).filter(|at| !is_value(*at));
    places.find_map(|at| Some((at, root.find_subcommand(arguments.get(at)?)?)))
}

/// The options of one table as they would be typed.
fn options(command: &Command, table: &Value) -> Result<Vec<OsString>, String> {
    let name = command.get_name();
    let Value::Table(table) = table else { return Err(format!("{name} must be a table: [{name}]")) };
    let mut typed = Vec::new();
    for (key, value) in table {
        let known = |argument: &&Arg| argument.get_long() == Some(key.as_str());
        let Some(argument) = command.get_arguments().find(known) else {
            let names = command.get_arguments().filter_map(Arg::get_long);
            return Err(format!("{key} is no option of {name}{}", suggestion(key, names)));
        };
        match (argument.get_action().takes_values(), value) {
            (false, Value::Boolean(true)) => typed.push(format!("--{key}").into()),
            (false, Value::Boolean(false)) => {}
            (false, _) => return Err(format!("{name}: {key} is true or false")),
            (true, Value::Array(values)) if matches!(argument.get_action(), ArgAction::Append) => {
                for value in values {
                    typed.push(option(name, key, value)?);
                }
            }
            (true, value) => typed.push(option(name, key, value)?),
        }
    }
    Ok(typed)
}

fn option(command: &str, key: &str, value: &Value) -> Result<OsString, String> {
    match value {
        Value::String(text) => Ok(format!("--{key}={text}").into()),
        Value::Integer(number) => Ok(format!("--{key}={number}").into()),
        Value::Float(number) => Ok(format!("--{key}={number}").into()),
        Value::Datetime(time) => Ok(format!("--{key}={time}").into()),
        Value::Boolean(_) | Value::Array(_) | Value::Table(_) => {
            Err(format!("{command}: {key} takes one text or number"))
        }
    }
}

/// What somebody probably meant.
fn suggestion<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let alike = known.map(|known| (strsim::jaro_winkler(name, known), known));
    let best = alike.filter(|(alike, _)| *alike >= ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(String::new, |(_, known)| format!("; did you mean {known}?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Arguments;
    use std::io::Write;

    fn expanded(text: &str, typed: &[&str]) -> Result<Vec<String>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let config = format!("--config={}", file.path().display());
        let arguments = ["dedup-audit", config.as_str()].into_iter().chain(typed.iter().copied());
        let expanded = expand(arguments.map(OsString::from).collect(), &Arguments::definition());
        expanded
            .map(|all| all.into_iter().skip(2).map(|text| text.into_string().unwrap()).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn options_of_the_command_come_before_what_is_typed() {
        let text =
            "[scan]\nkey = \"value\"\ntopic = [\"a*\", \"b\"]\nthreads = 2\noffline = true\nquiet = false\n";
        let found = expanded(text, &["scan", "x", "--threads", "1"]).unwrap();
        assert_eq!(found.first().map(String::as_str), Some("scan"));
        assert_eq!(found[found.len() - 3..], ["x", "--threads", "1"]);
        let mut options = found[1..found.len() - 3].to_vec();
        options.sort();
        assert_eq!(options, ["--key=value", "--offline", "--threads=2", "--topic=a*", "--topic=b"]);
        assert_eq!(expanded(text, &["explain"]).unwrap(), ["explain"]);
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_was_meant() {
        for (text, said) in [
            ("[scna]", "did you mean scan?"),
            ("[scan]\nthread = 1", "did you mean threads?"),
            ("[dump]\nthreads = 1", "threads is no option of dump"),
            ("[scan]\nquiet = 1", "quiet is true or false"),
            ("[scan]\nthreads = [1]", "takes one text or number"),
            ("scan = 1", "must be a table"),
            ("key = \"value\"", "key stands outside a table; put it below the command it is for: [scan]"),
            ("nonsense = 1\n[scan]", "nonsense stands outside a table"),
            ("[scan", "unclosed table"),
        ] {
            let error = expanded(text, &["scan", "x"]).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_value_that_is_refused_is_told_with_its_file_and_table() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"[scan]\nkey = 3\n").unwrap();
        let config = format!("--config={}", file.path().display());
        let read = |typed: &[&str]| {
            let all = ["dedup-audit", config.as_str()].into_iter().chain(typed.iter().copied());
            Arguments::read(all.map(OsString::from))
        };
        let error = read(&["scan", "x"]).unwrap_err().to_string();
        let place = format!("{}: [scan]: invalid value '3' for '--key <KEY>'", file.path().display());
        assert!(error.starts_with(&place), "{error}");
        // A table of another command is no matter.
        assert!(read(&["explain"]).is_ok());
    }

    #[test]
    fn a_command_is_not_taken_for_a_value() {
        let root = Arguments::definition();
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let name = |text: &[&str]| {
            called(&words(text), &root).map(|(at, command)| (at, command.get_name().to_owned()))
        };
        assert_eq!(name(&["x", "--config", "scan", "dump", "y"]), Some((3, "dump".to_owned())));
        assert_eq!(name(&["x", "--help"]), None);
        assert_eq!(file(&words(&["x", "--config"])), None);
        assert_eq!(file(&words(&["x", "--", "--config=a"])), None);
    }
}
