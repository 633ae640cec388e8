//! How a message of Kafka's is described: its fields, with the versions in which they are there.

use super::value::Value;

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// One byte, 0 is false.
    Bool,
    /// 8 bits, signed.
    Int8,
    /// 16 bits, signed.
    Int16,
    /// 16 bits, unsigned.
    Uint16,
    /// 32 bits, signed.
    Int32,
    /// 64 bits, signed.
    Int64,
    /// IEEE 754, 64 bits.
    Float64,
    /// 16 bytes.
    Uuid,
    /// UTF-8 behind its length.
    String,
    /// Bytes behind their length.
    Bytes,
    /// Values of one type behind their count.
    Array(&'static Kind),
    /// A message within a message.
    Struct(&'static [Field]),
}

/// What a field has when it is not in the bytes; a tagged field with it is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// 0, false, empty.
    Empty,
    /// This number.
    Number(i64),
    /// Null.
    Null,
}

impl Default {
    /// Whether `value` is this default.
    #[must_use]
    pub fn is(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Null, Value::Null) | (Self::Empty, Value::Bool(false)) => true,
            (Self::Number(default), Value::Number(number)) => *number == default,
            (Self::Empty, Value::Number(number)) => *number == 0,
            (Self::Empty, Value::Float(number)) => *number == 0.0,
            (Self::Empty, Value::Uuid(bytes)) => *bytes == [0; 16],
            (Self::Empty, Value::String(bytes) | Value::Bytes(bytes)) => bytes.is_empty(),
            (Self::Empty, Value::Array(values)) => values.is_empty(),
            _ => false,
        }
    }
}

/// A field of a message or struct.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// As Kafka's JSON spells it.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The first version that has it.
    pub since: i16,
    /// The last version that has it.
    pub until: i16,
    /// The first version in which it may be null.
    pub nullable_since: Option<i16>,
    /// Its tag, and the first version in which it is tagged instead of standing in its place.
    pub tag: Option<(u32, i16)>,
    /// What it has when it is not there.
    pub default: Default,
}

/// A field of every version that is never null.
#[must_use]
pub const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, since: 0, until: i16::MAX, nullable_since: None, tag: None, default: Default::Empty }
}

impl Field {
    /// Not before this version.
    #[must_use]
    pub const fn since(mut self, version: i16) -> Self {
        self.since = version;
        self
    }

    /// Not behind this version.
    #[must_use]
    pub const fn until(mut self, version: i16) -> Self {
        self.until = version;
        self
    }

    /// Null is possible from this version on.
    #[must_use]
    pub const fn nullable(mut self, version: i16) -> Self {
        self.nullable_since = Some(version);
        self
    }

    /// In the tagged section from this version on.
    #[must_use]
    pub const fn tagged(mut self, tag: u32, version: i16, default: Default) -> Self {
        self.tag = Some((tag, version));
        self.default = default;
        self
    }

    /// Whether the field belongs to this version.
    #[must_use]
    pub const fn is_in(&self, version: i16) -> bool {
        self.since <= version && version <= self.until
    }

    /// Its tag in this version; `None` when it stands in its place.
    #[must_use]
    pub const fn tag_in(&self, version: i16) -> Option<u32> {
        match self.tag {
            Some((tag, since)) if version >= since => Some(tag),
            _ => None,
        }
    }
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its number, as the topic or the framing gives it.
    pub number: i16,
    /// The name of the type.
    pub name: &'static str,
    /// The last version that is known.
    pub last_version: i16,
    /// The first flexible version; `None` when there is none.
    pub flexible_since: Option<i16>,
    /// Its fields in the order of the bytes.
    pub fields: &'static [Field],
}
