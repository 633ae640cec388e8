//! One field of an Avro value.
//!
//! The library parses schemas. Values are walked over here, because it builds whole values, as deep
//! and as large as their bytes say: bytes that somebody may have written to end the process.
//!
//! Source: Avro 1.12, "Binary encoding". Unions are looked through, logical types are what they are
//! stored as.

use crate::{Member, Undecoded};
use apache_avro::Schema;
use apache_avro::schema::{InnerDecimalSchema, Name, UuidSchema};
use std::collections::HashMap;

/// Values inside of values: what is deeper has no key that anybody would name.
const DEEPEST: usize = 64;

/// A schema with all types to which it refers.
#[derive(Debug)]
pub(crate) struct AvroSchema {
    root: Schema,
    names: HashMap<Name, Schema>,
}

impl AvroSchema {
    /// Parses a schema that may refer to types in `others`.
    pub(crate) fn parse(text: &str, others: &[&str]) -> Result<Self, apache_avro::Error> {
        let (root, others) = Schema::parse_str_with_list(text, others)?;
        let mut names = HashMap::new();
        for schema in others.iter().chain([&root]) {
            collect_names(schema, &mut names);
        }
        Ok(Self { root, names })
    }

    /// The field at `path`. The value must end with the bytes.
    pub(crate) fn member(&self, bytes: &[u8], path: &[String]) -> Result<Option<Member>, Undecoded> {
        let mut walk = Walk { names: &self.names, rest: bytes, items_left: bytes.len() };
        let found = walk.value(&self.root, Some(path), 0)?;
        if !walk.rest.is_empty() {
            return Err(Undecoded::NotOfSchema);
        }
        match found {
            Found::Nothing => Ok(None),
            Found::Member(member) => Ok(Some(member)),
            Found::Composite => Err(Undecoded::NoSingleValue),
        }
    }
}

/// Keeps every type that has a name.
fn collect_names(schema: &Schema, names: &mut HashMap<Name, Schema>) {
    match schema {
        Schema::Record(record) if !names.contains_key(&record.name) => {
            names.insert(record.name.clone(), schema.clone());
            record.fields.iter().for_each(|field| collect_names(&field.schema, names));
        }
        Schema::Enum(of) => _ = names.insert(of.name.clone(), schema.clone()),
        Schema::Fixed(of) | Schema::Duration(of) => _ = names.insert(of.name.clone(), schema.clone()),
        Schema::Decimal(of) => {
            if let InnerDecimalSchema::Fixed(fixed) = &of.inner {
                names.insert(fixed.name.clone(), schema.clone());
            }
        }
        Schema::Uuid(UuidSchema::Fixed(fixed)) => _ = names.insert(fixed.name.clone(), schema.clone()),
        Schema::Array(of) => collect_names(&of.items, names),
        Schema::Map(of) => collect_names(&of.types, names),
        Schema::Union(of) => of.variants().iter().for_each(|schema| collect_names(schema, names)),
        _ => {}
    }
}

enum Found {
    /// Null, not there, or not looked for.
    Nothing,
    Member(Member),
    Composite,
}

struct Walk<'a> {
    names: &'a HashMap<Name, Schema>,
    rest: &'a [u8],
    /// Items of arrays and maps that may still come. A null takes no byte, and blocks of them that each claim as many
    /// as the value has bytes would take a square of its length: together there are no more than bytes.
    items_left: usize,
}

impl<'a> Walk<'a> {
    /// Reads one value; `path` leads to what is looked for in it.
    fn value(&mut self, schema: &Schema, path: Option<&[String]>, depth: usize) -> Result<Found, Undecoded> {
        if depth > DEEPEST {
            return Err(Undecoded::NotOfSchema);
        }
        let here = path.is_some_and(<[String]>::is_empty);
        let single = |member: Member| if here { Found::Member(member) } else { Found::Nothing };
        let number = |number: &dyn ToString| single(Member::Other(number.to_string()));
        Ok(match schema {
            Schema::Null => Found::Nothing,
            Schema::Boolean => match self.take(1)? {
                [0] => number(&false),
                [1] => number(&true),
                _ => return Err(Undecoded::NotOfSchema),
            },
            Schema::Int | Schema::Date | Schema::TimeMillis => {
                number(&i32::try_from(self.long()?).map_err(|_| Undecoded::NotOfSchema)?)
            }
            Schema::Long
            | Schema::TimeMicros
            | Schema::TimestampMillis
            | Schema::TimestampMicros
            | Schema::TimestampNanos
            | Schema::LocalTimestampMillis
            | Schema::LocalTimestampMicros
            | Schema::LocalTimestampNanos => number(&self.long()?),
            Schema::Float => number(&f32::from_le_bytes(self.array()?)),
            Schema::Double => number(&f64::from_le_bytes(self.array()?)),
            Schema::Bytes | Schema::BigDecimal | Schema::Uuid(UuidSchema::Bytes) => {
                single(Member::Bytes(self.bytes()?.to_vec()))
            }
            Schema::String | Schema::Uuid(UuidSchema::String) => {
                let text = std::str::from_utf8(self.bytes()?).map_err(|_| Undecoded::NotOfSchema)?;
                if here { Found::Member(Member::Text(text.to_owned())) } else { Found::Nothing }
            }
            Schema::Fixed(fixed) | Schema::Duration(fixed) | Schema::Uuid(UuidSchema::Fixed(fixed)) => {
                single(Member::Bytes(self.take(fixed.size)?.to_vec()))
            }
            Schema::Decimal(decimal) => single(Member::Bytes(match &decimal.inner {
                InnerDecimalSchema::Bytes => self.bytes()?.to_vec(),
                InnerDecimalSchema::Fixed(fixed) => self.take(fixed.size)?.to_vec(),
            })),
            Schema::Enum(of) => {
                let symbol = of.symbols.get(self.length()?).ok_or(Undecoded::NotOfSchema)?;
                single(Member::Text(symbol.clone()))
            }
            Schema::Union(of) => {
                let variant = of.variants().get(self.length()?).ok_or(Undecoded::NotOfSchema)?;
                return self.value(variant, path, depth + 1);
            }
            Schema::Record(record) => {
                let mut found = Found::Nothing;
                for field in &record.fields {
                    let inside = behind(path, &field.name);
                    let value = self.value(&field.schema, inside, depth + 1)?;
                    if inside.is_some() {
                        found = value;
                    }
                }
                if here { Found::Composite } else { found }
            }
            Schema::Array(of) => {
                let mut at = 0_u64;
                let found = self.blocks(|walk| {
                    let inside = behind(path, &at.to_string());
                    at += 1;
                    Ok((walk.value(&of.items, inside, depth + 1)?, inside.is_some()))
                })?;
                if here { Found::Composite } else { found }
            }
            Schema::Map(of) => {
                let found = self.blocks(|walk| {
                    let name = std::str::from_utf8(walk.bytes()?).map_err(|_| Undecoded::NotOfSchema)?;
                    let inside = behind(path, name);
                    Ok((walk.value(&of.types, inside, depth + 1)?, inside.is_some()))
                })?;
                if here { Found::Composite } else { found }
            }
            Schema::Ref { name } => {
                let schema = self.names.get(name).ok_or(Undecoded::NoSchema)?;
                return self.value(schema, path, depth + 1);
            }
        })
    }

    /// The items of an array or map, in blocks.
    fn blocks(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(Found, bool), Undecoded>,
    ) -> Result<Found, Undecoded> {
        let mut found = Found::Nothing;
        loop {
            let count = self.long()?;
            if count == 0 {
                return Ok(found);
            }
            if count < 0 {
                self.long()?;
            }
            let claimed = usize::try_from(count.unsigned_abs()).map_err(|_| Undecoded::NotOfSchema)?;
            self.items_left = self.items_left.checked_sub(claimed).ok_or(Undecoded::NotOfSchema)?;
            for _ in 0..claimed {
                let (value, is_wanted) = item(self)?;
                if is_wanted {
                    found = value;
                }
            }
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Undecoded> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Undecoded::NotOfSchema)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Undecoded> {
        self.take(N)?.first_chunk().copied().ok_or(Undecoded::NotOfSchema)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Undecoded> {
        let length = self.length()?;
        self.take(length)
    }

    fn length(&mut self) -> Result<usize, Undecoded> {
        usize::try_from(self.long()?).map_err(|_| Undecoded::NotOfSchema)
    }

    /// A zigzag number of up to ten bytes.
    fn long(&mut self) -> Result<i64, Undecoded> {
        let mut bits = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            bits |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed());
            }
        }
        Err(Undecoded::NotOfSchema)
    }
}

/// The path behind `name`, where it leads through it.
fn behind<'p>(path: Option<&'p [String]>, name: &str) -> Option<&'p [String]> {
    path?.split_first().filter(|(first, _)| *first == name).map(|(_, rest)| rest)
}
