//! What several tests need: a report held against the schema.

use serde_json::Value;

/// Panics with every place at which `report` does not follow the schema of the report.
pub fn assert_follows_the_schema(report: &Value) {
    let schema = dedup_audit::report::schema::report().to_value();
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<_> = validator
        .iter_errors(report)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "the report does not follow its schema:\n{}", errors.join("\n"));
}
