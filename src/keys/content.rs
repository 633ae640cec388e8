//! The content of a record: key, value and headers, without the volatile fields of its topic.

use super::json::{self, JsonPointer};
use crate::format::Record;
use memchr::memmem::Finder;

/// Volatile fields: a send time, a nonce, an attempt counter. They do not count as content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// Members of a JSON value.
    pub json: Vec<JsonPointer>,
    /// Headers by name.
    pub headers: Vec<Vec<u8>>,
}

impl Mask {
    /// Whether everything counts.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.json.is_empty() && self.headers.is_empty()
    }

    /// Adds the fields of `other`.
    pub fn join(&mut self, other: &Self) {
        for pointer in &other.json {
            if !self.json.contains(pointer) {
                self.json.push(pointer.clone());
            }
        }
        for name in &other.headers {
            if !self.headers.contains(name) {
                self.headers.push(name.clone());
            }
        }
    }

    /// The fields as `--ignore-field` spells them.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let json = self.json.iter().map(|pointer| format!("json:{pointer}"));
        let headers = self.headers.iter().map(|name| format!("header:{}", String::from_utf8_lossy(name)));
        json.chain(headers).collect()
    }

    /// Adds a field as `--ignore-field` spells it.
    ///
    /// # Errors
    /// A sentence that says what is known.
    pub fn add(&mut self, field: &str) -> Result<(), String> {
        match field.split_once(':') {
            Some(("json", "")) => return Err(format!("field {field:?}: the pointer is empty")),
            Some(("json", pointer)) => self.json.push(pointer.parse()?),
            Some(("header", name)) if !name.is_empty() => self.headers.push(name.as_bytes().to_vec()),
            _ => return Err(format!("field {field:?}: known are json:/pointer and header:NAME")),
        }
        Ok(())
    }
}

/// Writes contents as bytes; reuses its buffer.
#[derive(Debug, Default)]
pub struct Content {
    buffer: Vec<u8>,
    /// Where masked scalars stand.
    cuts: Vec<(usize, usize)>,
}

impl Content {
    /// Hands pieces to `each` that records of equal content share, at less cost than the content: nothing
    /// is copied, and scalars behind the name of a masked field are left out wherever the name stands,
    /// without parsing. `false` when a masked field holds more than a scalar, or cannot be found by its name.
    ///
    /// Documents that are equal but for white space between their members are not seen as equal here.
    pub fn sieved(&mut self, record: &Record<'_>, mask: &SieveMask, mut each: impl FnMut(&[u8])) -> bool {
        if mask.needs_parsing {
            return false;
        }
        each(&[u8::from(record.key.is_some()) | u8::from(record.value.is_some()) << 1]);
        each(record.key.unwrap_or_default());
        let value = record.value.unwrap_or_default();
        if !json::without_scalars(value, &mask.names, &mut self.cuts, &mut each) {
            return false;
        }
        if mask.headers.is_empty() {
            if record.headers.count() > 0 {
                each(record.headers.as_bytes());
            }
        } else {
            for header in record.headers.iter().filter(|h| !mask.headers.iter().any(|name| name == h.key)) {
                each(header.key);
                each(&[u8::from(header.value.is_some())]);
                each(header.value.unwrap_or_default());
            }
        }
        true
    }

    /// The content of `record` as bytes: equal contents, equal bytes.
    pub fn bytes(&mut self, record: &Record<'_>, mask: &Mask) -> &[u8] {
        let out = &mut self.buffer;
        out.clear();
        push(out, record.key);
        push_value(out, record.value, mask);
        if mask.headers.is_empty() {
            out.extend_from_slice(record.headers.as_bytes());
        } else {
            for header in record.headers.iter().filter(|h| !mask.headers.iter().any(|name| name == h.key)) {
                push(out, Some(header.key));
                push(out, header.value);
            }
        }
        out
    }
}

/// Null and empty differ, and no two sequences of fields make the same bytes.
fn push(out: &mut Vec<u8>, field: Option<&[u8]>) {
    match field {
        None => out.push(0),
        Some(bytes) => {
            out.push(1);
            out.extend_from_slice(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }
}

/// A mask in the form that [`Content::sieved`] works with.
#[derive(Clone, Debug, Default)]
pub struct SieveMask {
    /// For each masked member of a JSON value what finds its quoted name.
    names: Vec<Finder<'static>>,
    headers: Vec<Vec<u8>>,
    /// Whether a masked member may stand there without its quoted name: an element of an array, or one
    /// whose name some writers escape.
    needs_parsing: bool,
}

impl SieveMask {
    /// The same fields as `mask`.
    #[must_use]
    pub fn of(mask: &Mask) -> Self {
        let names = || mask.json.iter().filter_map(|pointer| pointer.tokens().last());
        let finder = |name: &String| Finder::new(format!("\"{name}\"").as_bytes()).into_owned();
        Self {
            names: names().map(finder).collect(),
            needs_parsing: !names().all(|name| is_written_as_it_is(name)),
            headers: mask.headers.clone(),
        }
    }
}

/// Whether a name stands between quotes wherever it is a member's: no index of an array, and nothing that
/// some writer of JSON escapes.
fn is_written_as_it_is(name: &str) -> bool {
    let is_index = name.bytes().all(|byte| byte.is_ascii_digit());
    !is_index && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.: $@#".contains(&byte))
}

/// The content of a record that is at hand in parts, as [`Content::bytes`] would write it.
pub fn masked_content(
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[(Vec<u8>, Option<Vec<u8>>)],
    mask: &Mask,
) -> Vec<u8> {
    let mut out = Vec::new();
    push(&mut out, key);
    push_value(&mut out, value, mask);
    for (name, value) in headers.iter().filter(|(name, _)| !mask.headers.contains(name)) {
        push(&mut out, Some(name));
        push(&mut out, value.as_deref());
    }
    out
}

fn push_value(out: &mut Vec<u8>, value: Option<&[u8]>, mask: &Mask) {
    let start = out.len();
    if let Some(value) = value
        && !mask.json.is_empty()
    {
        let pointers: Vec<&[String]> = mask.json.iter().map(JsonPointer::tokens).collect();
        out.push(2);
        if json::without(value, &pointers, out) {
            return;
        }
        out.truncate(start);
    }
    push(out, value);
}
