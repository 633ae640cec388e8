//! Keys in Avro and Protobuf values, by schemas that lie in a local directory.
//!
//! Goes in: the value of a record and a pointer. Comes out: the field, or why there is none. Decoding is
//! in a crate of its own, behind the feature `schemas`; without it every such key is refused with the
//! way to get it.

use super::json::JsonPointer;
use super::spec::Part;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// How a value is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// Apache Avro, binary.
    Avro,
    /// Protocol buffers.
    Protobuf,
}

impl Encoding {
    /// As `--key` spells it.
    const fn name(self) -> &'static str {
        match self {
            Self::Avro => "avro",
            Self::Protobuf => "protobuf",
        }
    }

    /// How the files that hold its schemas end.
    const fn files(self) -> &'static str {
        match self {
            Self::Avro => ".avsc",
            Self::Protobuf => ".desc or .binpb",
        }
    }
}

/// A field of an encoded value.
#[derive(Clone, Debug)]
pub struct SchemaKey {
    encoding: Encoding,
    pointer: JsonPointer,
    /// Given later than the key: both come from options of their own.
    schemas: Option<Schemas>,
}

impl SchemaKey {
    pub(super) const fn new(encoding: Encoding, pointer: JsonPointer) -> Self {
        Self { encoding, pointer, schemas: None }
    }

    pub(super) fn set_schemas(&mut self, schemas: &Schemas) -> Result<(), String> {
        if !schemas.has(self.encoding) {
            return Err(format!("the directory of --schema holds no {} file", self.encoding.files()));
        }
        self.schemas = Some(schemas.clone());
        Ok(())
    }

    pub(super) fn extract<'a>(&self, value: Option<&'a [u8]>) -> Part<'a> {
        match (value, &self.schemas) {
            (Some(value), Some(schemas)) => schemas.part(self.encoding, value, self.pointer.tokens()),
            (Some(_), None) => Part::Undecodable(super::Undecoded::NoSchema),
            (None, _) => Part::Absent,
        }
    }

    const fn identity(&self) -> (&Encoding, &JsonPointer) {
        (&self.encoding, &self.pointer)
    }
}

impl fmt::Display for SchemaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.encoding.name(), self.pointer)
    }
}

compared_by!(SchemaKey, |one| one.identity());

impl Hash for SchemaKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

pub use decoder::Schemas;

#[cfg(feature = "schemas")]
mod decoder {
    use super::{Encoding, Part, Path};
    use crate::keys::Undecoded;
    use dedup_audit_schemas::{Member, Undecoded as Why};
    use std::borrow::Cow;
    use std::sync::Arc;

    /// The schemas of a directory.
    #[derive(Clone, Debug)]
    pub struct Schemas(Arc<dedup_audit_schemas::Schemas>);

    impl Schemas {
        /// Reads all schemas in `directory`.
        ///
        /// # Errors
        /// A sentence that says which file is no schema, and why.
        pub fn load(directory: &Path) -> Result<Self, String> {
            let loaded = dedup_audit_schemas::Schemas::load(directory);
            loaded.map(|schemas| Self(Arc::new(schemas))).map_err(|error| error.to_string())
        }

        pub(super) fn has(&self, encoding: Encoding) -> bool {
            match encoding {
                Encoding::Avro => self.0.has_avro(),
                Encoding::Protobuf => self.0.has_protobuf(),
            }
        }

        pub(super) fn part<'a>(&self, encoding: Encoding, value: &[u8], path: &[String]) -> Part<'a> {
            let found = match encoding {
                Encoding::Avro => self.0.avro(value, path),
                Encoding::Protobuf => self.0.protobuf(value, path),
            };
            match found {
                Ok(None) => Part::Absent,
                Ok(Some(Member::Text(text))) => {
                    Part::Bytes { kind: b'b', bytes: Cow::Owned(text.into_bytes()) }
                }
                Ok(Some(Member::Other(text))) => {
                    Part::Bytes { kind: b'j', bytes: Cow::Owned(text.into_bytes()) }
                }
                Ok(Some(Member::Bytes(bytes))) => Part::Bytes { kind: b'b', bytes: Cow::Owned(bytes) },
                Err(Why::NoSchema) => Part::Undecodable(Undecoded::NoSchema),
                Err(Why::NotOfSchema) => Part::Undecodable(Undecoded::NotOfSchema),
                Err(Why::NoSingleValue) => Part::Undecodable(Undecoded::NoSingleValue),
                Err(Why::BeyondLimits) => Part::Undecodable(Undecoded::BeyondLimits),
            }
        }
    }
}

#[cfg(not(feature = "schemas"))]
mod decoder {
    use super::{Encoding, Part, Path};

    /// This build has no decoder, so there are none.
    #[derive(Clone, Debug)]
    pub struct Schemas(());

    impl Schemas {
        /// Says how to get a build that can do it.
        ///
        /// # Errors
        /// Always.
        pub fn load(_directory: &Path) -> Result<Self, String> {
            Err("this build reads no Avro and no Protobuf: cargo install dedup-audit --features schemas"
                .to_owned())
        }

        pub(super) fn has(&self, _encoding: Encoding) -> bool {
            let Self(()) = self;
            false
        }

        pub(super) fn part<'a>(&self, _encoding: Encoding, _value: &[u8], _path: &[String]) -> Part<'a> {
            let Self(()) = self;
            Part::Undecodable(crate::keys::Undecoded::NoSchema)
        }
    }
}
