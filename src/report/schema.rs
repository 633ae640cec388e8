//! The JSON Schema of the report, generated from its types.
//!
//! The contract says that enumerations are open: a reader must accept values that it does not know.
//! So the schema names the known values of codes, reasons, kinds, levels and the like in their
//! descriptions and as examples, and forbids none. Properties that it does not name are allowed,
//! too; a later version adds some.

use super::model::Report;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

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

/// The schema as it is printed and kept in the documents.
#[must_use]
pub fn text() -> String {
    format!("{:#}\n", report().to_value())
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
        let schema = report().to_value();
        let mut words = Vec::new();
        find(&schema, &mut words);
        for closed in ["enum", "const", "oneOf", "additionalProperties\": false"] {
            assert!(!words.contains(&closed), "{closed} closes an enumeration");
        }
        assert!(!text().contains("\"additionalProperties\": false"));
    }

    #[test]
    fn every_code_is_named() {
        let text = text();
        for code in Code::ALL {
            assert!(text.contains(&format!("\"{code}\"")), "{code} is missing");
        }
        assert!(text.contains("`E1`: The same wire batch."));
    }
}
