//! Collects what is said about paths while they are walked; how a path is shown is known only at
//! the end, when all of them are.

use super::inventory::{FileDamage, Note};
use super::listing::{SHOWN, some_names};
use crate::format::{Damage, DamageKind};
use crate::units::FilePosition;
use std::path::{Path, PathBuf};

/// Notes and damage, by path.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    notes: Vec<(PathBuf, String)>,
    damage: Vec<(PathBuf, Damage)>,
    passed_over: Vec<String>,
}

impl Remarks {
    pub fn note(&mut self, path: &Path, detail: impl Into<String>) {
        self.notes.push((path.to_owned(), detail.into()));
    }

    /// Entries of a directory that are passed over, each by its name.
    pub fn pass_over<'a>(
        &mut self,
        path: &Path,
        why: &str,
        names: impl ExactSizeIterator<Item = &'a str> + Clone,
    ) {
        self.note(path, format!("{why}: {}", some_names(names.clone())));
        self.passed_over.extend(names.take(SHOWN).map(str::to_owned));
    }

    /// Their names, as far as they are told.
    pub fn passed_over(&self) -> Vec<String> {
        let mut names = self.passed_over.clone();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A file that is not what its name says.
    pub fn bad_file(&mut self, path: &Path, length: u64, detail: impl Into<String>) {
        self.push(path, DamageKind::BadFile, FilePosition(0), length, detail.into());
    }

    /// An entry that could not be opened, listed or read.
    pub fn unreadable(&mut self, path: &Path, detail: impl Into<String>) {
        self.push(path, DamageKind::Unreadable, FilePosition(0), 0, detail.into());
    }

    /// A place of an archive that cannot be read.
    pub fn damaged(&mut self, path: &Path, position: u64, detail: impl Into<String>) {
        self.push(path, DamageKind::BadFile, FilePosition(position), 0, detail.into());
    }

    fn push(&mut self, path: &Path, kind: DamageKind, position: FilePosition, length: u64, detail: String) {
        let damage = Damage {
            position,
            length,
            kind,
            expected: false,
            detail,
            first_offset: None,
            last_offset: None,
            records_missing: true,
        };
        self.damage.push((path.to_owned(), damage));
    }

    /// The first entry that could not be read, and why; else the first place of an archive that is damaged.
    pub fn first_unreadable(&self) -> Option<(&Path, &str)> {
        let all = self.damage.iter().map(|(path, damage)| {
            (damage.kind != DamageKind::Unreadable, path.as_path(), damage.position, damage.detail.as_str())
        });
        all.min().map(|(_, path, _, detail)| (path, detail))
    }

    /// All of it, each once, sorted as it is shown.
    pub fn finish(self, show: impl Fn(&Path) -> String) -> (Vec<Note>, Vec<FileDamage>) {
        let mut notes: Vec<_> =
            self.notes.into_iter().map(|(path, detail)| Note { file: show(&path), detail }).collect();
        notes.sort_unstable();
        notes.dedup();
        let mut damage: Vec<_> =
            self.damage.into_iter().map(|(path, damage)| FileDamage { file: show(&path), damage }).collect();
        damage.sort_by(|a, b| {
            (&a.file, a.damage.position, &a.damage.detail).cmp(&(
                &b.file,
                b.damage.position,
                &b.damage.detail,
            ))
        });
        damage.dedup();
        (notes, damage)
    }
}
