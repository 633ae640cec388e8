//! The JSON Schemas of the report and of what the other commands answer, generated from the types.
//!
//! The contract says that enumerations are open: a reader must accept values that it does not know.
//! So the schema names the known values of codes, reasons, kinds, levels and the like in their
//! descriptions and as examples, and forbids none. Properties that it does not name are allowed,
//! too; a later version adds some.

use super::answer::Answer;
use super::compare::Compared;
use super::diff::Difference;
use super::keys::KeysReport;
use super::model::Report;
use super::offsets::Offsets;
use super::producers::Producers;
use super::reconcile::Reconciled;
use super::show::Shown;
use super::trace::Trace;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// A command with what makes the schema of its answer.
pub type OfCommand = (&'static str, fn() -> Schema);

/// The commands that answer in JSON.
pub const ANSWERS: [OfCommand; 9] = [
    ("scan", report),
    ("reconcile", of::<Answer<Reconciled>>),
    ("compare", of::<Answer<Compared>>),
    ("offsets", of::<Answer<Offsets>>),
    ("trace", of::<Answer<Trace>>),
    ("show", of::<Shown>),
    ("diff", of::<Difference>),
    ("producers", of::<Answer<Producers>>),
    ("keys", of::<Answer<KeysReport>>),
];

/// The schema of what a command answers with `--format json`, as it is printed and kept in the documents.
#[must_use]
pub fn text_of(command: &str) -> Option<String> {
    let (_, schema) = ANSWERS.iter().find(|(name, _)| *name == command)?;
    Some(text(&schema()))
}

/// The schema of the report of `scan --format json`.
#[must_use]
pub fn report() -> Schema {
    of::<Report>()
}

/// The schema of any type that is written with the words of the report.
#[must_use]
pub fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(OpenEnumerations);
    settings.into_generator().into_root_schema_for::<T>()
}

fn text(schema: &Schema) -> String {
    format!("{:#}\n", schema.as_value())
}

/// Turns a choice among fixed strings into any string, with the known ones described.
#[derive(Clone)]
struct OpenEnumerations;

impl Transform for OpenEnumerations {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(known) = known_values(schema) else {
            return;
        };
        let says = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let mut description = says.to_owned();
        description.push_str("\n\nKnown values; a reader must accept others, too:");
        for (value, meaning) in &known {
            description.push_str("\n- `");
            description.push_str(value);
            description.push('`');
            // A meaning that is only the name again says nothing.
            if let Some(meaning) = meaning.as_deref().filter(|text| text.trim_matches('`') != value.as_str())
            {
                description.push_str(": ");
                description.push_str(meaning);
            }
        }
        schema.remove("oneOf");
        schema.remove("enum");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("description".to_owned(), json!(description.trim_start()));
        let examples: Vec<_> = known.into_iter().map(|(value, _)| value).collect();
        schema.insert("examples".to_owned(), json!(examples));
    }
}

/// The strings that a schema chooses from with their meanings; `None` if it does anything else.
fn known_values(schema: &Schema) -> Option<Vec<(String, Option<String>)>> {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return choices.iter().map(|choice| Some((choice.as_str()?.to_owned(), None))).collect();
    }
    let choices = schema.get("oneOf").and_then(Value::as_array)?;
    let mut known = Vec::new();
    for choice in choices {
        let meaning = choice.get("description").and_then(Value::as_str).map(str::to_owned);
        if let Some(value) = choice.get("const").and_then(Value::as_str) {
            known.push((value.to_owned(), meaning));
        } else {
            for value in choice.get("enum")?.as_array()? {
                known.push((value.as_str()?.to_owned(), meaning.clone()));
            }
        }
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Code;

    fn find<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.keys().map(String::as_str));
                fields.values().for_each(|inner| find(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| find(inner, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn no_string_is_forbidden_and_no_property_either() {
        for (command, schema) in ANSWERS {
            let schema = schema().to_value();
            let mut words = Vec::new();
            find(&schema, &mut words);
            for closed in ["enum", "const", "oneOf"] {
                assert!(!words.contains(&closed), "{command}: {closed} closes an enumeration");
            }
            let text = text_of(command).unwrap();
            assert!(!text.contains("\"additionalProperties\": false"), "{command}");
        }
    }

    #[test]
    fn every_code_is_named() {
        let text = text(&report());
        for code in Code::ALL {
            assert!(text.contains(&format!("\"{code}\"")), "{code} is missing");
        }
        assert!(text.contains("`E1`: The same wire batch."));
    }
}
