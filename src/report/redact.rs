//! Reports for other eyes: what somebody must not read is replaced before anything is written.
//!
//! Goes in: the JSON value of any answer. Comes out: the same value, redacted. One pass over the value
//! serves the reports and the answers of all commands, and no form can leak what another hides.
//!
//! | mode | hides |
//! | --- | --- |
//! | `none` | nothing: business keys are shown, values only if asked for |
//! | `keys` | business keys, in every place and form, digests of contents among them, and values |
//! | `all` | also names, and ids of findings, which may be made of one: topics, topic ids, directories and paths, transactional, group, client and cluster ids, header names and JSON pointers, and wherever these stand in sentences |
//!
//! Numbers stay: offsets, times, producer ids, partitions and counts are what a report is about.
//!
//! A hidden text becomes a keyed hash (HMAC-SHA-256, 128 bits): equal texts have equal hashes within
//! a report, and no list of guesses can be tried without the key. The key is random for each run, so
//! hashes of two reports cannot be compared, unless a key is given.

use super::answer::Answer;
use super::escape::Terminal;
use super::model::{Redaction, Report};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha2::Sha256;
use std::collections::BTreeSet;

/// What is hidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Mode {
    /// Nothing: keys are shown
    #[default]
    None,
    /// Business keys and values
    Keys,
    /// Keys, values, and names: topics, directories, transactional ids, fields
    All,
}

/// Hides texts behind keyed hashes.
#[derive(Clone)]
pub struct Redactor {
    mode: Mode,
    key: Vec<u8>,
    from_file: bool,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("mode", &self.mode).finish_non_exhaustive()
    }
}

/// Sentences about files.
const DETAIL: &str = "detail";
/// The field that holds the answer itself.
const ANSWER: &str = "";
/// Fields that hold text of a key or a value, as a string or a list of strings.
const KEYS: &[&str] = &["examples", "values", "value", SEARCHED, "digest", "keyedHash", NAMED];
/// The key that a command was asked for.
const SEARCHED: &str = "searched";
/// Keys that sentences name.
const NAMED: &str = "namedKeys";
/// Options of a call whose words are those of this tool, or that are looked at by themselves.
const OPTIONS_OF_OURS: &[&str] = &["sort", "partitionCount"];
/// Fields that hold a name, as a string or a list of strings.
const NAMES: &[&str] = &[
    "topic",
    "topics",
    "topicId",
    "topicIds",
    "topicName",
    "sourceTopic",
    "directory",
    "directories",
    "replicaOf",
    "unpaired",
    "notSearched",
    "file",
    "files",
    "path",
    "paths",
    "emptyPaths",
    "a",
    "b",
    "clusterId",
    "transactionalId",
    "group",
    "groupId",
    "clientId",
    "client",
    "member",
    "host",
    "pointer",
    "field",
    "volatile",
    "ignoreField",
    "expectKey",
    OPTION,
    "baseline",
    "key",
    "tempDir",
];
/// Any other text that a call was given.
const OPTION: &str = "option";
/// Fields that hold a file: its own name says nothing and stays.
const FILES: &[&str] = &["file", "files"];
/// Endings and names of files that Kafka writes.
const KAFKA_FILES: &[&str] =
    &["log", "index", "timeindex", "txnindex", "snapshot", "checkpoint", "properties", "metadata"];

impl Redactor {
    /// A redactor with this key, or, without one, with a key that nobody knows.
    ///
    /// # Errors
    /// A sentence, where a key is too short to keep anything secret.
    pub fn new(mode: Mode, key: Option<Vec<u8>>) -> Result<Self, String> {
        if let Some(short) = key.as_ref().filter(|key| key.len() < 16) {
            return Err(format!("a key of {} bytes is too short, 16 are needed", short.len()));
        }
        let from_file = key.is_some();
        let key = match key {
            Some(key) => key,
            None => random_key().map_err(|error| format!("the system gives no random key: {error}"))?,
        };
        Ok(Self { mode, key, from_file })
    }

    /// What is hidden.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Redacts an answer, and puts into it what was done.
    pub fn redact(&self, answer: &mut Value) {
        self.redact_with(answer, &[]);
    }

    /// The same where sentences may hold further names, each with the field that it would stand in.
    fn redact_with(&self, answer: &mut Value, names: &[(&'static str, String)]) {
        if self.mode == Mode::None {
            return;
        }
        let mut secrets = Secrets::default();
        topics_of(answer, ANSWER, &mut secrets.topics);
        self.gather(answer, ANSWER, &mut secrets);
        if self.mode == Mode::All {
            for (field, name) in names {
                let stands_for = self.named(field, name, &secrets.topics);
                secrets.add(name, stands_for);
            }
        }
        let hide = Hide::of(secrets);
        self.walk(answer, ANSWER, &hide);
        if let Some(fields) = answer.as_object_mut() {
            let said = Redaction {
                mode: if self.mode == Mode::Keys { "keys" } else { "all" }.to_owned(),
                hash_key: if self.from_file { "file" } else { "random" }.to_owned(),
            };
            fields.insert("redaction".to_owned(), json!(said));
        }
    }

    /// Redacts a report.
    ///
    /// # Errors
    /// What keeps the redacted value from being a report.
    pub fn report(&self, report: Report) -> Result<Report, serde_json::Error> {
        if self.mode == Mode::None {
            return Ok(report);
        }
        self.through(&report, &report.coverage.names)
    }

    /// Redacts the answer of any command.
    ///
    /// # Errors
    /// What keeps the redacted value from being an answer.
    pub fn answer<T: Serialize + DeserializeOwned>(
        &self,
        answer: Answer<T>,
    ) -> Result<Answer<T>, serde_json::Error> {
        if self.mode == Mode::None {
            return Ok(answer);
        }
        self.through(&answer, &answer.coverage.names)
    }

    /// A value as it is read back once it was redacted.
    fn through<T: Serialize + DeserializeOwned>(
        &self,
        value: &T,
        names: &[(&'static str, String)],
    ) -> Result<T, serde_json::Error> {
        let mut value = serde_json::to_value(value)?;
        self.redact_with(&mut value, names);
        serde_json::from_value(value)
    }

    /// 128 bits in hexadecimal.
    fn hash(&self, bytes: &[u8]) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { return String::new() };
        mac.update(bytes);
        let bytes = mac.finalize().into_bytes();
        let half = bytes.first_chunk().copied().map_or(0, u128::from_be_bytes);
        format!("{half:032x}")
    }

    /// A short stand-in for a name: `topic-3f9c1a2b`.
    fn pseudonym(&self, kind: &str, name: &str) -> String {
        let hash: String = self.hash(name.as_bytes()).chars().take(12).collect();
        format!("{kind}-{hash}")
    }

    /// Collects what must not stand in any sentence.
    fn gather(&self, value: &Value, field: &str, secrets: &mut Secrets) {
        match value {
            Value::String(text) => match class(field) {
                Class::Key => {
                    secrets.add(text, self.hidden(text));
                    if field == NAMED {
                        secrets.add_named(text, &self.hidden(text));
                    }
                }
                Class::Name if self.mode == Mode::All => {
                    let stands_for = self.named(field, text, &secrets.topics);
                    secrets.add(text, stands_for);
                }
                Class::Word if self.hides_id(field, text) => secrets.add(text, self.finding_id(text)),
                _ => {}
            },
            Value::Array(items) => items.iter().for_each(|item| self.gather(item, field, secrets)),
            Value::Object(fields) if is_shown_key(fields) => {
                for name in ["text", "base64"] {
                    if let Some(text) = fields.get(name).and_then(Value::as_str) {
                        secrets.add(text, self.hidden(text));
                    }
                }
                for name in ["parts", "recordKey"] {
                    if let Some(inner) = fields.get(name) {
                        self.gather(inner, name, secrets);
                    }
                }
            }
            Value::Object(fields) => {
                for (name, inner) in fields {
                    self.gather(inner, inner_name(field, name), secrets);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn walk(&self, value: &mut Value, field: &str, hide: &Hide) {
        match value {
            Value::String(text) => {
                *text = match class(field) {
                    Class::Key => self.hidden(text),
                    Class::Name if self.mode == Mode::All => self.named(field, text, &hide.topics),
                    Class::Word if self.hides_id(field, text) => self.finding_id(text),
                    Class::Word => return,
                    _ if field == DETAIL => self.quoted(&hide.in_sentence(text)),
                    _ => hide.in_sentence(text),
                };
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, field, hide)),
            Value::Object(fields) if is_shown_key(fields) => self.hide_key(fields, hide),
            Value::Object(fields) => {
                let names: Vec<String> = fields.keys().cloned().collect();
                for name in names {
                    if let Some(inner) = fields.get_mut(&name) {
                        self.walk(inner, inner_name(field, &name), hide);
                    }
                }
                if self.mode == Mode::All && field == "partitionCount" {
                    let counts = std::mem::take(fields);
                    *fields = counts
                        .into_iter()
                        .map(|(topic, count)| (self.named("topic", &topic, &hide.topics), count))
                        .collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// What a file says is quoted where it is no good, and may say anything.
    fn quoted(&self, sentence: &str) -> String {
        let mut out = String::with_capacity(sentence.len());
        let mut rest = sentence;
        while let Some((before, behind)) = rest.split_once('"') {
            let mut escaped = false;
            let end = behind.find(|c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let Some((said, after)) = end.and_then(|at| Some((behind.get(..at)?, behind.get(at + 1..)?)))
            else {
                break;
            };
            out.push_str(before);
            out.push('"');
            out.push_str(&self.hidden(said));
            out.push('"');
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// A business key, or one part of a joined one.
    fn hide_key(&self, fields: &mut Map<String, Value>, hide: &Hide) {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let hash = if let Some(text) = text("text") {
            Some(self.hash(text.as_bytes()))
        } else if let Some(text) = text("base64") {
            Some(self.hash(&STANDARD.decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())))
        } else {
            text("digest").map(|text| self.hash(text.as_bytes()))
        };
        if let Some(hash) = hash {
            for name in ["text", "base64", "digest", "recordKey"] {
                fields.remove(name);
            }
            fields.insert("keyedHash".to_owned(), Value::String(hash));
        }
        if let Some(Value::Array(parts)) = fields.get_mut("parts") {
            parts.iter_mut().filter_map(Value::as_object_mut).for_each(|part| self.hide_key(part, hide));
        }
        if let Some(name) = fields.get_mut("key") {
            self.walk(name, "key", hide);
        }
    }

    /// What stands for the text of a key.
    fn hidden(&self, text: &str) -> String {
        self.pseudonym("key", text)
    }

    /// Whether this is the id of a finding, and to be hidden: it is made of the topic's name where no topic id is
    /// known, so that somebody could try guesses at the name.
    fn hides_id(&self, field: &str, text: &str) -> bool {
        self.mode == Mode::All && field == "id" && text.starts_with(FINDING)
    }

    /// What stands for the id of a finding, in its form.
    fn finding_id(&self, id: &str) -> String {
        let hash: String = self.hash(id.as_bytes()).chars().take(16).collect();
        format!("{FINDING}{hash}")
    }

    /// What stands for a directory: where it is that of a partition, its topic and its number.
    fn directory(&self, text: &str, topics: &BTreeSet<String>) -> String {
        let (above, own) = text.rsplit_once('/').map_or((None, text), |(above, own)| (Some(above), own));
        let of_partition = own.rsplit_once('-').filter(|(topic, number)| {
            number.bytes().all(|byte| byte.is_ascii_digit()) && topics.contains(*topic)
        });
        let Some((topic, number)) = of_partition else { return self.pseudonym("directory", text) };
        let own = format!("{}-{number}", self.named("topic", topic, topics));
        match above {
            Some(above) => format!("{}/{own}", self.pseudonym("directory", above)),
            None => own,
        }
    }

    /// What stands for a name. `topics` are those of the answer.
    fn named(&self, field: &str, text: &str, topics: &BTreeSet<String>) -> String {
        if field == "key" {
            return self.key_spec(text);
        }
        if FILES.contains(&field)
            && let Some((directory, own)) = text.rsplit_once('/')
            && own.rsplit(['.', '-']).next().is_some_and(|ending| KAFKA_FILES.contains(&ending))
        {
            return format!("{}/{own}", self.directory(directory, topics));
        }
        let kind = match field {
            "topic" | "topics" | "topicName" | "sourceTopic" => "topic",
            "directory" | "directories" | "replicaOf" | "unpaired" | "notSearched" | "file" | "files"
            | "a" | "b" => "directory",
            "path" | "paths" | "emptyPaths" | "baseline" | "tempDir" => "path",
            "volatile" | "pointer" | "field" | "ignoreField" | "expectKey" => "field",
            OPTION => "option",
            _ => "name",
        };
        match kind {
            "topic" if text.starts_with("__") => text.to_owned(),
            "directory" => self.directory(text, topics),
            _ => self.pseudonym(kind, text),
        }
    }

    /// `json:/customer/id+header:x`: which kind of key stays, which field does not.
    fn key_spec(&self, spec: &str) -> String {
        let part = |part: &str| match part.split_once(':') {
            Some((kind, name)) => format!("{kind}:{}", self.pseudonym("field", name)),
            None => part.to_owned(),
        };
        spec.split('+').map(part).collect::<Vec<_>>().join("+")
    }
}

/// The name under which a field is looked up: a transactional id in two fields is one name, and what
/// a call was given is hidden unless it is known to be harmless.
fn inner_name<'a>(outer: &'a str, name: &'a str) -> &'a str {
    match (outer, name) {
        ("transactionalId", "value") => outer,
        // The key that was asked for; elsewhere a key is the field that holds keys.
        (ANSWER, "key") => SEARCHED,
        ("expected", "key") => "expectKey",
        ("options", name) if !NAMES.contains(&name) && !OPTIONS_OF_OURS.contains(&name) => OPTION,
        _ => name,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Key,
    Name,
    /// A word of the contract.
    Word,
    Sentence,
}

fn class(field: &str) -> Class {
    match field {
        field if KEYS.contains(&field) => Class::Key,
        field if NAMES.contains(&field) => Class::Name,
        "code" | "severity" | "confidence" | "level" | "visibility" | "reason" | "outcome" | "mode"
        | "kind" | "id" | "session" | "segment" | "timestampType" | "schemaVersion" | "version" => {
            Class::Word
        }
        field if field.ends_with("Time") || field == "time" => Class::Word,
        _ => Class::Sentence,
    }
}

/// Whether an object is a business key, or a part of one: it has nothing beside.
fn is_shown_key(fields: &Map<String, Value>) -> bool {
    let known = ["text", "base64", "parts", "digest", "keyedHash", "key", "null", "recordKey"];
    fields.keys().all(|name| known.contains(&name.as_str()))
        && ["text", "base64", "parts", "digest", "keyedHash"].iter().any(|name| fields.contains_key(*name))
}

/// Bytes of a text that a sentence may hold as a whole.
const TOLD: usize = 4096;

/// The names of topics in an answer.
fn topics_of(value: &Value, field: &str, topics: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if matches!(field, "topic" | "topicName" | "topics") => {
            topics.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| topics_of(item, field, topics)),
        // What a call was given may be a pattern.
        Value::Object(_) if field == "options" => {}
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| topics_of(inner, name, topics)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// How the id of a finding begins.
const FINDING: &str = "DA-";

/// What must not stand in a sentence, with what stands for it.
#[derive(Default)]
struct Secrets {
    texts: BTreeSet<(String, String)>,
    /// Those by which a directory is known as that of a partition.
    topics: BTreeSet<String>,
}

impl Secrets {
    fn add(&mut self, text: &str, stands_for: String) {
        // Sentences name no business keys; should one do so, a key that can be told from an offset or a
        // count is found.
        let telling = text.len() >= 6 || text.chars().any(char::is_alphabetic);
        if !telling || text == stands_for {
            return;
        }
        // As sentences have it: spelled out, and cut where a name is long.
        for columns in [60, 80] {
            self.texts.insert((Terminal::text(text).cut(columns).to_string(), stands_for.clone()));
        }
        // What is longer stands in no sentence as a whole: names are cut there, and paths end before.
        if text.len() > TOLD {
            return;
        }
        self.texts.insert((Terminal::text(text).to_string(), stands_for.clone()));
        // Directories are told with a sign in the place of what controls.
        let shown = text.replace(char::is_control, "\u{fffd}");
        self.texts.insert((shown, stands_for.clone()));
        self.texts.insert((text.to_owned(), stands_for));
    }

    /// Adds a key that a sentence names, however little it tells: `key 17`.
    fn add_named(&mut self, text: &str, stands_for: &str) {
        self.texts.insert((format!("key {text}"), format!("key {stands_for}")));
    }
}

/// Finds secrets in sentences.
struct Hide {
    automaton: Option<AhoCorasick>,
    stand_ins: Vec<String>,
    topics: BTreeSet<String>,
}

impl Hide {
    fn of(secrets: Secrets) -> Self {
        let Secrets { texts, topics } = secrets;
        let patterns: Vec<&str> = texts.iter().map(|(text, _)| text.as_str()).collect();
        // Built for one answer: tables for every byte take longer to fill than sentences to search.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(patterns)
            .ok();
        Self { automaton, stand_ins: texts.into_iter().map(|(_, stand_in)| stand_in).collect(), topics }
    }

    /// The sentence with every secret replaced that stands in it as a word of its own.
    fn in_sentence(&self, text: &str) -> String {
        // What cannot be searched is not shown.
        let Some(automaton) = &self.automaton else { return "(redacted)".to_owned() };
        let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let stands_alone = |start: usize, end: usize| {
            let before = text.get(..start).and_then(|text| text.chars().next_back());
            let after = text.get(end..).and_then(|text| text.chars().next());
            let own = text.get(start..end).unwrap_or_default();
            !(word(before) && word(own.chars().next()) || word(after) && word(own.chars().next_back()))
        };
        let found = automaton.find_overlapping_iter(text);
        let mut found: Vec<_> = found.filter(|one| stands_alone(one.start(), one.end())).collect();
        // The first, and of those that begin there the longest.
        found.sort_by_key(|one| (one.start(), std::cmp::Reverse(one.end())));
        let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
        for one in found {
            if one.start() < from {
                continue;
            }
            shown.push_str(text.get(from..one.start()).unwrap_or_default());
            let stand_in = self.stand_ins.get(one.pattern().as_usize());
            shown.push_str(stand_in.map_or("(redacted)", String::as_str));
            from = one.end();
        }
        shown.push_str(text.get(from..).unwrap_or_default());
        shown
    }
}

/// A key from the system's source of randomness.
fn random_key() -> Result<Vec<u8>, getrandom::Error> {
    let mut key = vec![0; 32];
    getrandom::fill(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Value {
        json!({
            "invocation": {"paths": ["/var/kafka/orders-0"], "key": "json:/iban+record-key",
                           "options": {"topic": ["orders"], "partitionCount": {"orders": 6}}},
            "verdict": {"headline": "20 events of topic orders are stored twice"},
            "coverage": {"damage": [{"file": "data/orders-12/00000000000000000000.log", "kind": "bad-crc",
                                     "detail": "orders-12 has a hole, orders2 has none"}]},
            "topics": [{"topic": "orders", "topicId": "abc", "partitions": [{"directory": "data/orders-1"}]},
                       {"topic": "__consumer_offsets"}],
            "findings": [{"code": "resend-new-session", "cause": {"text": "a restart", "confidence": "likely"},
                "title": "orders repeats IBAN-7",
                "groups": [
                    {"businessKey": {"text": "IBAN-7"}, "copies": [{"offset": 7, "topic": "orders", "value": {"text": "secret"}}]},
                    {"businessKey": {"base64": "SUJBTi03"}},
                    {"businessKey": {"parts": [{"key": "header:ssn", "text": "IBAN-7"}, {"key": "record-key", "null": true}]}},
                    {"businessKey": {"digest": "00ff"}},
                ]}],
            "examples": ["IBAN-7"],
        })
    }

    fn redacted(mode: Mode, key: &[u8]) -> Value {
        let mut value = answer();
        Redactor::new(mode, Some(key.to_vec())).unwrap().redact(&mut value);
        value
    }

    const KEY: &[u8] = b"0123456789abcdef";

    #[test]
    fn ids_of_findings_are_keyed_where_names_are_hidden() {
        let report = || {
            json!({"findings": [{"id": "DA-3f9c1a2b7d40e6a1", "facts": ["see DA-3f9c1a2b7d40e6a1"]}],
                   "sessions": [{"id": "7#1"}]})
        };
        let redacted = |mode, key: &[u8]| {
            let mut value = report();
            Redactor::new(mode, Some(key.to_vec())).unwrap().redact(&mut value);
            value
        };
        let (one, other) = (b"0123456789abcdef".as_slice(), b"another key of 26 bytes...".as_slice());
        let all = redacted(Mode::All, one);
        let id = all["findings"][0]["id"].as_str().unwrap();
        assert!(id.len() == 19 && id.starts_with("DA-") && id != "DA-3f9c1a2b7d40e6a1", "{id}");
        assert_eq!(all["findings"][0]["facts"][0], format!("see {id}"));
        assert_eq!(all["sessions"][0]["id"], "7#1");
        assert_eq!(all, redacted(Mode::All, one), "one key, one id");
        assert_ne!(all["findings"], redacted(Mode::All, other)["findings"]);
        assert_eq!(redacted(Mode::Keys, one)["findings"], report()["findings"]);
    }

    #[test]
    fn keys_hides_keys_and_values_and_nothing_else() {
        let value = redacted(Mode::Keys, KEY);
        let text = value.to_string();
        for secret in ["IBAN-7", "SUJBTi03", "secret", "00ff"] {
            assert!(!text.contains(secret), "{secret} is left in {text}");
        }
        assert_eq!(value["verdict"], answer()["verdict"]);
        assert_eq!(value["findings"][0]["cause"], answer()["findings"][0]["cause"]);
        assert_eq!(value["redaction"], json!({"mode": "keys", "hashKey": "file"}));
        let groups = &value["findings"][0]["groups"];
        let hash = &groups[0]["businessKey"]["keyedHash"];
        assert_eq!(hash.as_str().unwrap().len(), 32);
        assert_eq!(hash, &groups[1]["businessKey"]["keyedHash"], "the same bytes have another hash");
        assert_eq!(hash, &groups[2]["businessKey"]["parts"][0]["keyedHash"]);
    }

    #[test]
    fn all_hides_names_too_also_in_sentences() {
        let value = redacted(Mode::All, KEY);
        let text = value.to_string();
        for secret in ["IBAN", "iban", "\"orders\"", "orders-", "topic orders", "ssn", "abc", "/var/kafka"] {
            assert!(!text.contains(secret), "{secret} is left in {text}");
        }
        let topic = value["topics"][0]["topic"].as_str().unwrap();
        assert!(topic.starts_with("topic-"));
        // A directory that is named after its partition still is.
        let directory = value["topics"][0]["partitions"][0]["directory"].as_str().unwrap();
        assert!(
            directory.starts_with("directory-") && directory.ends_with(&format!("/{topic}-1")),
            "{directory}"
        );
        assert_eq!(value["findings"][0]["groups"][0]["copies"][0]["topic"], topic);
        assert_eq!(value["verdict"]["headline"], format!("20 events of topic {topic} are stored twice"));
        let damage = &value["coverage"]["damage"][0];
        assert_eq!(damage["detail"], format!("{topic}-12 has a hole, orders2 has none"));
        assert!(damage["file"].as_str().unwrap().ends_with("/00000000000000000000.log"));
        assert_eq!(value["topics"][1]["topic"], "__consumer_offsets");
        assert_eq!(value["findings"][0]["groups"][0]["copies"][0]["offset"], 7);
    }

    #[test]
    fn hashes_compare_under_one_key_and_under_no_other() {
        assert_eq!(redacted(Mode::All, KEY), redacted(Mode::All, KEY));
        assert_ne!(redacted(Mode::Keys, KEY), redacted(Mode::Keys, b"fedcba9876543210"));
        let (mut one, mut other) = (answer(), answer());
        Redactor::new(Mode::Keys, None).unwrap().redact(&mut one);
        Redactor::new(Mode::Keys, None).unwrap().redact(&mut other);
        assert_ne!(one, other);
        assert!(Redactor::new(Mode::Keys, Some(b"short".to_vec())).is_err());
    }

    #[test]
    fn none_changes_nothing() {
        assert_eq!(redacted(Mode::None, KEY), answer());
    }
}
