//! One field of a Protobuf message, by a descriptor set (`protoc --include_imports
//! --descriptor_set_out=FILE`).

use crate::{Member, Undecoded};
use prost_reflect::{DescriptorError, DescriptorPool, DynamicMessage, FileDescriptor, Kind, MapKey};
use prost_reflect::{FieldDescriptor, MessageDescriptor, ReflectMessage, Value};

/// A descriptor set.
#[derive(Debug)]
pub(crate) struct DescriptorSet {
    /// The messages of the file that no other one imports, in their order.
    messages: Vec<MessageDescriptor>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DescriptorSetError {
    /// It is no descriptor set.
    #[error("no descriptor set: {0} (protoc --include_imports --descriptor_set_out=FILE makes one)")]
    NoSet(#[from] DescriptorError),
    /// It holds nothing.
    #[error("no descriptor set: no file is described in it")]
    Empty,
    /// Nothing tells which of its files has the messages.
    #[error("{0} of its files are imported by no other one: make a set for one file and its imports")]
    Roots(usize),
}

impl DescriptorSet {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, DescriptorSetError> {
        let pool = DescriptorPool::decode(bytes)?;
        let imported: Vec<FileDescriptor> =
            pool.files().flat_map(|file| file.dependencies().collect::<Vec<_>>()).collect();
        let roots: Vec<FileDescriptor> = pool.files().filter(|file| !imported.contains(file)).collect();
        match roots.as_slice() {
            [root] => Ok(Self { messages: root.messages().collect() }),
            [] => Err(DescriptorSetError::Empty),
            _ => Err(DescriptorSetError::Roots(roots.len())),
        }
    }

    /// The field at `path` of a message that is not framed, where the file has one message alone.
    pub(crate) fn member(&self, bytes: &[u8], path: &[String]) -> Result<Option<Member>, Undecoded> {
        match self.messages.as_slice() {
            [message] => member(message, bytes, path),
            _ => Err(Undecoded::NoSchema),
        }
    }

    /// The field at `path` of a message behind the path of its index: a count and so many indexes, as
    /// zigzag numbers; a count of 0 stands for the first message.
    pub(crate) fn framed_member(&self, bytes: &[u8], path: &[String]) -> Result<Option<Member>, Undecoded> {
        let mut rest = bytes;
        let count = number(&mut rest)?;
        let first = if count == 0 { 0 } else { number(&mut rest)? };
        let mut message = self.messages.get(first).cloned().ok_or(Undecoded::NoSchema)?;
        for _ in 1..count {
            let index = number(&mut rest)?;
            let child = message.child_messages().nth(index);
            message = child.ok_or(Undecoded::NoSchema)?;
        }
        member(&message, rest, path)
    }
}

fn member(message: &MessageDescriptor, bytes: &[u8], path: &[String]) -> Result<Option<Member>, Undecoded> {
    let decoded = DynamicMessage::decode(message.clone(), bytes).map_err(|_| Undecoded::NotOfSchema)?;
    in_message(&decoded, path)
}

fn in_message(message: &DynamicMessage, path: &[String]) -> Result<Option<Member>, Undecoded> {
    let Some((name, rest)) = path.split_first() else { return Err(Undecoded::NoSingleValue) };
    let descriptor = message.descriptor();
    let field = descriptor.get_field_by_name(name).or_else(|| descriptor.get_field_by_json_name(name));
    // Without presence a default value is not carried, and cannot be told from none.
    let Some(field) = field.filter(|field| message.has_field(field)) else { return Ok(None) };
    in_value(&message.get_field(&field), &field, rest)
}

fn in_value(value: &Value, field: &FieldDescriptor, path: &[String]) -> Result<Option<Member>, Undecoded> {
    let step = path.split_first();
    match (value, step) {
        (Value::Message(message), _) => in_message(message, path),
        (Value::List(items), Some((at, rest))) => {
            let item = at.parse::<usize>().ok().and_then(|at| items.get(at));
            item.map_or(Ok(None), |item| in_value(item, field, rest))
        }
        (Value::Map(entries), Some((name, rest))) => {
            let entry = entries.iter().find(|(key, _)| is_named(key, name));
            let Kind::Message(entry_type) = field.kind() else { return Ok(None) };
            let value_field = entry_type.map_entry_value_field();
            entry.map_or(Ok(None), |(_, value)| in_value(value, &value_field, rest))
        }
        (Value::List(_) | Value::Map(_), None) => Err(Undecoded::NoSingleValue),
        (_, Some(_)) => Ok(None),
        (Value::Bool(value), None) => Ok(Some(Member::Other(value.to_string()))),
        (Value::I32(value), None) => Ok(Some(Member::Other(value.to_string()))),
        (Value::I64(value), None) => Ok(Some(Member::Other(value.to_string()))),
        (Value::U32(value), None) => Ok(Some(Member::Other(value.to_string()))),
        (Value::U64(value), None) => Ok(Some(Member::Other(value.to_string()))),
        (Value::F32(value), None) => Ok(Some(Member::Other(value.to_string()))),
        (Value::F64(value), None) => Ok(Some(Member::Other(value.to_string()))),
        (Value::String(text), None) => Ok(Some(Member::Text(text.clone()))),
        (Value::Bytes(bytes), None) => Ok(Some(Member::Bytes(bytes.to_vec()))),
        (Value::EnumNumber(number), None) => {
            let Kind::Enum(of) = field.kind() else { return Ok(Some(Member::Other(number.to_string()))) };
            Ok(Some(match of.get_value(*number) {
                Some(value) => Member::Text(value.name().to_owned()),
                None => Member::Other(number.to_string()),
            }))
        }
    }
}

fn is_named(key: &MapKey, name: &str) -> bool {
    match key {
        MapKey::Bool(key) => key.to_string() == name,
        MapKey::I32(key) => key.to_string() == name,
        MapKey::I64(key) => key.to_string() == name,
        MapKey::U32(key) => key.to_string() == name,
        MapKey::U64(key) => key.to_string() == name,
        MapKey::String(key) => key == name,
    }
}

/// A zigzag number that is an index.
fn number(rest: &mut &[u8]) -> Result<usize, Undecoded> {
    let mut bits = 0_u32;
    for shift in (0..28).step_by(7) {
        let (&byte, behind) = rest.split_first().ok_or(Undecoded::NotOfSchema)?;
        *rest = behind;
        bits |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let is_negative = bits & 1 == 1;
            let index = usize::try_from(bits >> 1).map_err(|_| Undecoded::NotOfSchema)?;
            return if is_negative { Err(Undecoded::NotOfSchema) } else { Ok(index) };
        }
    }
    Err(Undecoded::NotOfSchema)
}
