//! Single fields of Avro and Protobuf records, by schemas that lie in a local directory.
//!
//! Goes in: a directory of `.avsc` files and Protobuf descriptor sets (`.desc`, `.binpb`), record values,
//! and where in the record the field is. Comes out: the field, or why it cannot be told. Nothing is
//! asked over a network, and no schema is guessed:
//!
//! * A file that is named after a number (`17.avsc`) is the schema with this id in the registry, for
//!   values that begin with a zero byte and the id.
//! * One file that is not is the schema of all other values, framed or not. Of Avro there may be more
//!   beside numbered ones; they hold types to which the numbered ones refer.
//!
//! A value that does not fit its schema to the last byte is not decoded. Source: the Avro 1.12
//! specification, "Binary encoding"; the wire format of Confluent's schema registry: magic byte 0, a
//! big-endian id of 4 bytes, and for Protobuf the path of the message's index in its file.

mod avro;
mod directory;
mod framing;
mod protobuf;

pub use directory::SchemaError;

use std::path::Path;

/// All schemas of a directory.
#[derive(Debug, Default)]
pub struct Schemas {
    avro: directory::ById<avro::AvroSchema>,
    protobuf: directory::ById<protobuf::DescriptorSet>,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// A text, or the name of an enumeration's value.
    Text(String),
    /// A number or a truth value, as it is written in decimal.
    Other(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Why a field cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// No schema for this value is in the directory.
    NoSchema,
    /// The bytes are none of the schema's.
    NotOfSchema,
    /// There is a record, a list or a map at that place.
    NoSingleValue,
    /// The value is deeper, or more is in it, than is looked at.
    BeyondLimits,
}

impl Schemas {
    /// Reads all schemas in `directory`.
    ///
    /// # Errors
    /// [`SchemaError`] for a file that cannot be read or is no schema, for a directory without any, and
    /// where nothing tells which of several files is meant.
    pub fn load(directory: &Path) -> Result<Self, SchemaError> {
        directory::load(directory)
    }

    /// Whether there is a schema for Avro values.
    #[must_use]
    pub fn has_avro(&self) -> bool {
        !self.avro.is_empty()
    }

    /// Whether there is a schema for Protobuf messages.
    #[must_use]
    pub fn has_protobuf(&self) -> bool {
        !self.protobuf.is_empty()
    }

    /// The field at `path` in an Avro value; `None` where it is null or not there.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub fn avro(&self, value: &[u8], path: &[String]) -> Result<Option<Member>, Undecoded> {
        let frame = framing::split(value);
        if let Some((id, rest)) = frame
            && let Some(schema) = self.avro.with_id(id)
        {
            return schema.member(rest, path);
        }
        let schema = self.avro.only().ok_or(Undecoded::NoSchema)?;
        match frame.map(|(_, rest)| schema.member(rest, path)) {
            Some(found) if !matches!(found, Err(Undecoded::NotOfSchema | Undecoded::BeyondLimits)) => found,
            _ => schema.member(value, path),
        }
    }

    /// The field at `path` in a Protobuf message; `None` where it is not there. What the message
    /// does not carry has no value here, whatever its default.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub fn protobuf(&self, value: &[u8], path: &[String]) -> Result<Option<Member>, Undecoded> {
        let frame = framing::split(value);
        if let Some((id, rest)) = frame
            && let Some(set) = self.protobuf.with_id(id)
        {
            return set.framed_member(rest, path);
        }
        let set = self.protobuf.only().ok_or(Undecoded::NoSchema)?;
        // No field has the number 0: a message never begins with a zero byte.
        match frame {
            Some((_, rest)) => set.framed_member(rest, path),
            None => set.member(value, path),
        }
    }
}
