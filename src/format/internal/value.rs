//! A decoded message: a tree in the order of Kafka's definition, and its JSON in Kafka's form.

use std::fmt::Write;

/// A decoded value, borrowing from the record.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A nullable field without a value.
    Null,
    /// True or false.
    Bool(bool),
    /// Any integer type.
    Number(i64),
    /// A 64-bit float.
    Float(f64),
    /// 16 bytes, all zero for none.
    Uuid([u8; 16]),
    /// Text, in UTF-8 unless somebody wrote something else.
    String(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Values of one type.
    Array(Vec<Value<'a>>),
    /// Fields with their names, in Kafka's order; only those that are there.
    Struct(Vec<(&'static str, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The field of a struct.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        match self {
            Self::Struct(fields) => fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The field of a struct, to be replaced.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value<'a>> {
        match self {
            Self::Struct(fields) => {
                fields.iter_mut().find(|(field, _)| *field == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The number in the field `name`.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Self::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The number in the field `name`, of the type that the field has.
    #[must_use]
    pub fn small<T: TryFrom<i64>>(&self, name: &str) -> Option<T> {
        self.number(name).and_then(|number| T::try_from(number).ok())
    }

    /// The numbers of the array in the field `name`.
    pub fn numbers(&self, name: &str) -> impl Iterator<Item = i64> {
        self.elements(name).iter().filter_map(|value| match value {
            Self::Number(number) => Some(*number),
            _ => None,
        })
    }

    /// The text in the field `name`; bytes that are no UTF-8 become U+FFFD.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Some(Self::String(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// The UUID in the field `name`.
    #[must_use]
    pub fn uuid(&self, name: &str) -> Option<[u8; 16]> {
        match self.get(name) {
            Some(Self::Uuid(bytes)) => Some(*bytes),
            _ => None,
        }
    }

    /// The elements of the array in the field `name`; none when it is null or absent.
    #[must_use]
    pub fn elements(&self, name: &str) -> &[Value<'a>] {
        match self.get(name) {
            Some(Self::Array(values)) => values,
            _ => &[],
        }
    }

    /// Appends the JSON that Kafka's converters write: no blanks, bytes in base 64, UUIDs in the
    /// URL form of base 64.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) => _ = write!(out, "{number}"),
            Self::Float(number) => _ = write!(out, "{number:?}"),
            Self::Uuid(bytes) => {
                out.push('"');
                push_base64(out, bytes, Alphabet::Url);
                out.push('"');
            }
            Self::String(bytes) => push_string(out, &String::from_utf8_lossy(bytes)),
            Self::Bytes(bytes) => {
                out.push('"');
                push_base64(out, bytes, Alphabet::Standard);
                out.push('"');
            }
            Self::Array(values) => {
                out.push('[');
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    value.write_json(out);
                }
                out.push(']');
            }
            Self::Struct(fields) => {
                out.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    push_string(out, name);
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

/// Appends a JSON string as Jackson writes it: short escapes where there are any, upper-case
/// hexadecimal for the other control characters.
fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => _ = write!(out, "\\u{:04X}", u32::from(control)),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Which characters stand for 62 and 63, and whether the end is padded.
#[derive(Clone, Copy)]
enum Alphabet {
    Standard,
    Url,
}

fn push_base64(out: &mut String, bytes: &[u8], alphabet: Alphabet) {
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
    match alphabet {
        Alphabet::Standard => BASE64_STANDARD.encode_string(bytes, out),
        Alphabet::Url => BASE64_URL_SAFE_NO_PAD.encode_string(bytes, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: &Value<'_>) -> String {
        let mut out = String::new();
        value.write_json(&mut out);
        out
    }

    #[test]
    fn json_has_kafkas_form() {
        let value = Value::Struct(vec![
            ("topicId", Value::Uuid([0xfb; 16])),
            ("userData", Value::Bytes(&[0xfb, 0xff])),
            ("names", Value::Array(vec![Value::String(b"a\"\n\x1f"), Value::Null])),
            ("rate", Value::Float(5.0)),
            ("set", Value::Bool(true)),
        ]);
        assert_eq!(
            json(&value),
            r#"{"topicId":"-_v7-_v7-_v7-_v7-_v7-w","userData":"+/8=","names":["a\"\n\u001F",null],"rate":5.0,"set":true}"#
        );
    }

    #[test]
    fn fields_are_found_by_name() {
        let value = Value::Struct(vec![("offset", Value::Number(42)), ("group", Value::String(b"g"))]);
        assert_eq!(value.number("offset"), Some(42));
        assert_eq!(value.text("group").as_deref(), Some("g"));
        assert_eq!(value.number("group"), None);
        assert!(value.elements("offset").is_empty());
    }
}
