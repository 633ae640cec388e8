//! One field of an Avro value.
//!
//! The library parses schemas. Values are walked over here, because it builds whole values, as deep
//! and as large as their bytes say: bytes that somebody may have written to end the process.
//!
//! A type may take no bytes at all: null, a fixed of no size, a record of nothing else. Doubled often enough, or counted in
//! a list, such values would take ages without a byte being read; which types these are is decided once, and only
//! what is looked for in them is gone after.
//!
//! Source: Avro 1.12, "Binary encoding". Unions are looked through, logical types are what they are
//! stored as.

use crate::{Member, Undecoded};
use apache_avro::Schema;
use apache_avro::schema::{InnerDecimalSchema, Name, UuidSchema};
use std::collections::{HashMap, HashSet};

/// Values inside of values: what is deeper has no key that anybody would name.
const DEEPEST: usize = 64;
/// Values inside of a value that are gone through whatever its size, and for each of its bytes as many as a record may
/// have fields that take none.
const STEPS: usize = 1 << 16;
const STEPS_A_BYTE: usize = 64;

/// A schema with all types to which it refers.
#[derive(Debug)]
pub(crate) struct AvroSchema {
    root: Schema,
    names: HashMap<Name, Schema>,
    /// Records that take no bytes.
    empty: HashSet<Name>,
}

impl AvroSchema {
    /// Parses a schema that may refer to types in `others`.
    pub(crate) fn parse(text: &str, others: &[&str]) -> Result<Self, apache_avro::Error> {
        let (root, others) = Schema::parse_str_with_list(text, others)?;
        let mut names = HashMap::new();
        for schema in others.iter().chain([&root]) {
            collect_names(schema, &mut names);
        }
        let empty = Empty::among(&names);
        Ok(Self { root, names, empty })
    }

    /// The field at `path`. The value must end with the bytes.
    pub(crate) fn member(&self, bytes: &[u8], path: &[String]) -> Result<Option<Member>, Undecoded> {
        let mut walk = Walk {
            schema: self,
            rest: bytes,
            steps_left: bytes.len().saturating_mul(STEPS_A_BYTE).saturating_add(STEPS),
        };
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

/// Finds the records that take no bytes.
struct Empty<'s> {
    names: &'s HashMap<Name, Schema>,
    /// What was decided. A record that is inside of itself has no value at all, and is not one of them.
    known: HashMap<&'s Name, bool>,
}

impl<'s> Empty<'s> {
    fn among(names: &'s HashMap<Name, Schema>) -> HashSet<Name> {
        let mut this = Self { names, known: HashMap::new() };
        let is_empty = |schema: &&'s Schema| this.takes_no_bytes(schema);
        let empty = names.values().filter(is_empty).filter_map(|schema| match schema {
            Schema::Record(record) => Some(record.name.clone()),
            _ => None,
        });
        empty.collect()
    }

    fn takes_no_bytes(&mut self, schema: &'s Schema) -> bool {
        match schema {
            Schema::Record(record) => {
                if let Some(&known) = self.known.get(&record.name) {
                    return known;
                }
                self.known.insert(&record.name, false);
                let empty = record.fields.iter().all(|field| self.takes_no_bytes(&field.schema));
                self.known.insert(&record.name, empty);
                empty
            }
            Schema::Ref { name } => self.names.get(name).is_some_and(|schema| self.takes_no_bytes(schema)),
            other => is_empty_scalar(other),
        }
    }
}

fn is_empty_scalar(schema: &Schema) -> bool {
    match schema {
        Schema::Null => true,
        Schema::Fixed(of) => of.size == 0,
        _ => false,
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
    schema: &'a AvroSchema,
    rest: &'a [u8],
    steps_left: usize,
}

impl<'a> Walk<'a> {
    /// Reads one value; `path` leads to what is looked for in it.
    fn value(&mut self, schema: &Schema, path: Option<&[String]>, depth: usize) -> Result<Found, Undecoded> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(Undecoded::BeyondLimits)?;
        if path.is_none() && self.takes_no_bytes(schema) {
            return Ok(Found::Nothing);
        }
        if depth > DEEPEST {
            return Err(Undecoded::BeyondLimits);
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
                let (mut at, mut found) = (0_u64, Found::Nothing);
                let wanted = path.and_then(<[String]>::split_first);
                if self.takes_no_bytes(&of.items) {
                    while let Some(claimed) = self.block()? {
                        let end = at.saturating_add(claimed);
                        if let Some((index, inside)) = wanted
                            && index.parse().is_ok_and(|index| (at..end).contains(&index))
                        {
                            found = self.value(&of.items, Some(inside), depth + 1)?;
                        }
                        at = end;
                    }
                } else {
                    while let Some(claimed) = self.block()? {
                        for _ in 0..self.no_more_than_bytes(claimed)? {
                            let inside = behind(path, &at.to_string());
                            let value = self.value(&of.items, inside, depth + 1)?;
                            if inside.is_some() {
                                found = value;
                            }
                            at += 1;
                        }
                    }
                }
                if here { Found::Composite } else { found }
            }
            Schema::Map(of) => {
                let mut found = Found::Nothing;
                while let Some(claimed) = self.block()? {
                    for _ in 0..self.no_more_than_bytes(claimed)? {
                        let name = std::str::from_utf8(self.bytes()?).map_err(|_| Undecoded::NotOfSchema)?;
                        let inside = behind(path, name);
                        let value = self.value(&of.types, inside, depth + 1)?;
                        if inside.is_some() {
                            found = value;
                        }
                    }
                }
                if here { Found::Composite } else { found }
            }
            Schema::Ref { name } => {
                let schema = self.schema.names.get(name).ok_or(Undecoded::NoSchema)?;
                return self.value(schema, path, depth + 1);
            }
        })
    }

    fn takes_no_bytes(&self, schema: &Schema) -> bool {
        match schema {
            Schema::Record(record) => self.schema.empty.contains(&record.name),
            Schema::Ref { name } => {
                self.schema.empty.contains(name) || self.schema.names.get(name).is_some_and(is_empty_scalar)
            }
            other => is_empty_scalar(other),
        }
    }

    /// How many items the next block of an array or map has; none where it ends.
    fn block(&mut self) -> Result<Option<u64>, Undecoded> {
        let count = self.long()?;
        if count < 0 {
            self.long()?;
        }
        Ok((count != 0).then_some(count.unsigned_abs()))
    }

    /// So many items that each take a byte at least.
    fn no_more_than_bytes(&self, claimed: u64) -> Result<usize, Undecoded> {
        let claimed = usize::try_from(claimed).ok().filter(|claimed| *claimed <= self.rest.len());
        claimed.ok_or(Undecoded::NotOfSchema)
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
