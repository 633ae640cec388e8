//! The schema files of a directory, and which of them is meant for a value.

use crate::Schemas;
use crate::avro::AvroSchema;
use crate::protobuf::DescriptorSet;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Why schemas cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A file or the directory cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is no schema.
    #[error("{}: {reason}", path.display())]
    NoSchema {
        /// The path.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The directory holds none.
    #[error("{}: no .avsc, .desc or .binpb file", .0.display())]
    Empty(PathBuf),
    /// Nothing tells which file is meant.
    #[error(
        "{}: {files} {kind} files without a registry id in their names: name each ID.{kind}, or keep one",
        directory.display()
    )]
    Ambiguous {
        /// The directory.
        directory: PathBuf,
        /// The extension.
        kind: &'static str,
        /// How many there are.
        files: usize,
    },
}

/// Schemas by the id that their file is named after, and the one that has none.
#[derive(Debug)]
pub(crate) struct ById<T> {
    numbered: BTreeMap<u32, T>,
    only: Option<T>,
}

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self { numbered: BTreeMap::new(), only: None }
    }
}

impl<T> ById<T> {
    /// The schema whose file is named after this id.
    pub(crate) fn with_id(&self, id: u32) -> Option<&T> {
        self.numbered.get(&id)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbered.is_empty() && self.only.is_none()
    }

    /// The schema whose file is not named after an id.
    pub(crate) const fn only(&self) -> Option<&T> {
        self.only.as_ref()
    }
}

/// A file with its bytes.
struct SchemaFile {
    path: PathBuf,
    id: Option<u32>,
    bytes: Vec<u8>,
}

pub(crate) fn load(directory: &Path) -> Result<Schemas, SchemaError> {
    let avro = files(directory, &["avsc"])?;
    let sets = files(directory, &["binpb", "desc"])?;
    if avro.is_empty() && sets.is_empty() {
        return Err(SchemaError::Empty(directory.to_owned()));
    }
    Ok(Schemas { avro: load_avro(directory, &avro)?, protobuf: load_protobuf(directory, &sets)? })
}

fn load_avro(directory: &Path, files: &[SchemaFile]) -> Result<ById<AvroSchema>, SchemaError> {
    let mut texts = Vec::with_capacity(files.len());
    for file in files {
        let text = std::str::from_utf8(&file.bytes).map_err(|error| no_schema(file, &error))?;
        texts.push((file, text));
    }
    let (numbered, shared): (Vec<_>, Vec<_>) = texts.into_iter().partition(|(file, _)| file.id.is_some());
    let shared_texts: Vec<&str> = shared.iter().map(|(_, text)| *text).collect();
    let mut schemas = ById::default();
    for (file, text) in &numbered {
        let schema = AvroSchema::parse(text, &shared_texts).map_err(|error| no_schema(file, &error))?;
        schemas.numbered.extend(file.id.map(|id| (id, schema)));
    }
    match shared.as_slice() {
        [(file, text)] => {
            schemas.only = Some(AvroSchema::parse(text, &[]).map_err(|error| no_schema(file, &error))?);
        }
        [_, _, ..] if numbered.is_empty() => {
            return Err(SchemaError::Ambiguous {
                directory: directory.to_owned(),
                kind: "avsc",
                files: shared.len(),
            });
        }
        _ => {}
    }
    Ok(schemas)
}

fn load_protobuf(directory: &Path, files: &[SchemaFile]) -> Result<ById<DescriptorSet>, SchemaError> {
    let mut schemas = ById::default();
    let without_id = files.iter().filter(|file| file.id.is_none()).count();
    if without_id > 1 {
        let directory = directory.to_owned();
        return Err(SchemaError::Ambiguous { directory, kind: "desc", files: without_id });
    }
    for file in files {
        let set = DescriptorSet::parse(&file.bytes).map_err(|error| no_schema(file, &error))?;
        match file.id {
            Some(id) => _ = schemas.numbered.insert(id, set),
            None => schemas.only = Some(set),
        }
    }
    Ok(schemas)
}

fn no_schema(file: &SchemaFile, error: &dyn std::error::Error) -> SchemaError {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let words = error.to_string();
        if !reason.contains(&words) {
            reason = format!("{reason}: {words}");
        }
        source = error.source();
    }
    SchemaError::NoSchema { path: file.path.clone(), reason }
}

/// The files with one of these extensions, by name.
fn files(directory: &Path, extensions: &[&str]) -> Result<Vec<SchemaFile>, SchemaError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| SchemaError::Unreadable { path, source }
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable(directory))? {
        let path = entry.map_err(unreadable(directory))?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if !extension.is_some_and(|extension| extensions.contains(&extension)) {
            continue;
        }
        let id = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let bytes = std::fs::read(&path).map_err(unreadable(&path))?;
        files.push(SchemaFile { path, id, bytes });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
