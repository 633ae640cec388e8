//! Reads a message by its table.
//!
//! ```text
//!             not flexible              flexible
//!  string     INT16 length, −1 = null   unsigned varint of length + 1, 0 = null
//!  bytes      INT32 length, −1 = null   unsigned varint of length + 1, 0 = null
//!  array      INT32 count,  −1 = null   unsigned varint of count + 1,  0 = null
//!  struct     its fields                its fields, then tagged fields
//!  nullable   INT8, −1 = null           INT8, −1 = null; tagged: unsigned varint, 0 = null
//!  struct
//!  tagged     –                         unsigned varint count; each: tag, size, bytes
//! ```

use super::schema::{Field, Kind, Message};
use super::value::Value;
use crate::format::cursor::{Cursor, FormatError};

/// The largest message that is read: the metadata log has no larger batches, and a tree takes many
/// times the bytes that it came from.
const LARGEST: usize = 8 << 20;

/// Reads the fields of `message` in `version`.
///
/// # Errors
/// [`FormatError`] when the version is not known, bytes are missing, or a length is negative where
/// null is not allowed. Bytes behind the last field are for the caller to judge.
pub fn decode<'a>(
    message: &Message,
    version: i16,
    cursor: &mut Cursor<'a>,
) -> Result<Value<'a>, FormatError> {
    if version < 0 || version > message.last_version {
        return Err(cursor.invalid(message.name, format!("version {version} is unknown")));
    }
    if cursor.left() > LARGEST {
        let reason = format!("{} bytes are more than is read of one message", cursor.left());
        return Err(cursor.invalid(message.name, reason));
    }
    let encoding = match message.flexible_since {
        Some(since) if version >= since => Encoding::Flexible,
        _ => Encoding::Plain,
    };
    Reader { cursor, version, encoding }.fields(message.fields)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Plain,
    Flexible,
}

struct Reader<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    version: i16,
    encoding: Encoding,
}

impl<'a> Reader<'_, 'a> {
    fn fields(&mut self, fields: &'static [Field]) -> Result<Value<'a>, FormatError> {
        let mut found: Vec<(usize, &'static str, Value<'a>)> = Vec::new();
        for (place, field) in fields.iter().enumerate() {
            if field.is_in(self.version) && field.tag_in(self.version).is_none() {
                found.push((place, field.name, self.value(field)?));
            }
        }
        if self.encoding == Encoding::Flexible {
            self.tagged(fields, &mut found)?;
            // Tagged fields come last in the bytes and stand where Kafka's definition has them.
            found.sort_by_key(|(place, ..)| *place);
        }
        Ok(Value::Struct(found.into_iter().map(|(_, name, value)| (name, value)).collect()))
    }

    fn tagged(
        &mut self,
        fields: &'static [Field],
        found: &mut Vec<(usize, &'static str, Value<'a>)>,
    ) -> Result<(), FormatError> {
        let count = self.cursor.unsigned_varint("tagged fields")?;
        for _ in 0..count {
            let tag = self.cursor.unsigned_varint("tag")?;
            let size = self.cursor.unsigned_varint("size of a tagged field")?;
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let bytes = self.cursor.bytes("tagged field", size)?;
            let known = fields
                .iter()
                .enumerate()
                .find(|(_, field)| field.is_in(self.version) && field.tag_in(self.version) == Some(tag));
            let Some((place, field)) = known else {
                continue;
            };
            let mut cursor = Cursor::new(bytes);
            let mut reader = Reader { cursor: &mut cursor, version: self.version, encoding: self.encoding };
            let value = reader.tagged_value(field)?;
            if !field.default.is(&value) {
                found.push((place, field.name, value));
            }
        }
        Ok(())
    }

    /// As [`Self::value`]; a struct that may be null has another mark in front where it is tagged.
    fn tagged_value(&mut self, field: &Field) -> Result<Value<'a>, FormatError> {
        match field.kind {
            Kind::Struct(fields) if field.nullable_since.is_some_and(|since| self.version >= since) => {
                match self.cursor.unsigned_varint(field.name)? {
                    0 => Ok(Value::Null),
                    _ => self.fields(fields),
                }
            }
            _ => self.value(field),
        }
    }

    fn value(&mut self, field: &Field) -> Result<Value<'a>, FormatError> {
        let nullable = field.nullable_since.is_some_and(|since| self.version >= since);
        let value = match field.kind {
            Kind::Struct(fields) if nullable => {
                if self.cursor.int8(field.name)? < 0 {
                    return Ok(Value::Null);
                }
                self.fields(fields)?
            }
            kind => self.plain(field.name, kind)?,
        };
        if value == Value::Null && !nullable {
            return Err(self.cursor.invalid(field.name, "is null"));
        }
        Ok(value)
    }

    /// A value of this type; null where a length says so.
    fn plain(&mut self, name: &'static str, kind: Kind) -> Result<Value<'a>, FormatError> {
        Ok(match kind {
            Kind::Bool => Value::Bool(self.cursor.int8(name)? != 0),
            Kind::Int8 => Value::Number(self.cursor.int8(name)?.into()),
            Kind::Int16 => Value::Number(self.cursor.int16(name)?.into()),
            Kind::Uint16 => Value::Number(u16::from_be_bytes(self.cursor.array(name)?).into()),
            Kind::Int32 => Value::Number(self.cursor.int32(name)?.into()),
            Kind::Int64 => Value::Number(self.cursor.int64(name)?),
            Kind::Float64 => Value::Float(f64::from_be_bytes(self.cursor.array(name)?)),
            Kind::Uuid => Value::Uuid(self.cursor.array(name)?),
            Kind::String => {
                let length = match self.encoding {
                    Encoding::Plain => usize::try_from(self.cursor.int16(name)?).ok(),
                    Encoding::Flexible => self.compact_length(name)?,
                };
                self.bytes(name, length)?.map_or(Value::Null, Value::String)
            }
            Kind::Bytes => {
                let length = self.length(name)?;
                self.bytes(name, length)?.map_or(Value::Null, Value::Bytes)
            }
            Kind::Array(element) => self.array(name, *element)?,
            Kind::Struct(fields) => self.fields(fields)?,
        })
    }

    fn array(&mut self, name: &'static str, element: Kind) -> Result<Value<'a>, FormatError> {
        let Some(count) = self.length(name)? else {
            return Ok(Value::Null);
        };
        // No element of a known message takes less than a byte.
        if count > self.cursor.left() {
            let left = self.cursor.left();
            return Err(self.cursor.invalid(name, format!("{count} elements in {left} bytes")));
        }
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(self.plain(name, element)?);
        }
        Ok(Value::Array(values))
    }

    fn bytes(&mut self, name: &'static str, length: Option<usize>) -> Result<Option<&'a [u8]>, FormatError> {
        length.map(|length| self.cursor.bytes(name, length)).transpose()
    }

    fn length(&mut self, name: &'static str) -> Result<Option<usize>, FormatError> {
        match self.encoding {
            Encoding::Plain => Ok(usize::try_from(self.cursor.int32(name)?).ok()),
            Encoding::Flexible => self.compact_length(name),
        }
    }

    fn compact_length(&mut self, name: &'static str) -> Result<Option<usize>, FormatError> {
        let raised = self.cursor.unsigned_varint(name)?;
        Ok(raised.checked_sub(1).map(|length| usize::try_from(length).unwrap_or(usize::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::{Default, field};
    use super::*;

    const INNER: &[Field] = &[field("name", Kind::String), field("size", Kind::Int8)];
    const TABLE: Message = Message {
        number: 0,
        name: "Table",
        last_version: 2,
        flexible_since: Some(1),
        fields: &[
            field("late", Kind::Int8).since(1).tagged(3, 1, Default::Number(-1)),
            field("rows", Kind::Array(&Kind::Struct(INNER))).nullable(0),
            field("early", Kind::Int16).until(0),
        ],
    };

    fn json(version: i16, bytes: &[u8]) -> Result<String, FormatError> {
        let mut out = String::new();
        decode(&TABLE, version, &mut Cursor::new(bytes))?.write_json(&mut out);
        Ok(out)
    }

    #[test]
    fn both_encodings_are_read() {
        let plain = [0, 0, 0, 1, 0, 1, b'a', 7, 0, 9];
        assert_eq!(json(0, &plain).unwrap(), r#"{"rows":[{"name":"a","size":7}],"early":9}"#);
        let flexible = [2, 2, b'a', 7, 0, 0];
        assert_eq!(json(1, &flexible).unwrap(), r#"{"rows":[{"name":"a","size":7}]}"#);
    }

    #[test]
    fn a_known_tag_stands_in_its_place_and_an_unknown_one_is_skipped_by_size() {
        let bytes = [0, 2, 3, 1, 5, 9, 2, 0xff, 0xff];
        assert_eq!(json(1, &bytes).unwrap(), r#"{"late":5,"rows":null}"#);
        assert_eq!(json(1, &[0, 1, 3, 1, 0xff]).unwrap(), r#"{"rows":null}"#);
    }

    #[test]
    fn hostile_counts_are_refused() {
        assert!(json(0, &[0x7f, 0xff, 0xff, 0xff, 0, 0]).is_err());
        assert!(json(1, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).is_err());
        assert!(json(1, &[0, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    }

    #[test]
    fn an_unknown_version_is_refused() {
        assert_eq!(json(3, &[0, 0]).unwrap_err().to_string(), "Table at 0: version 3 is unknown");
    }
}
