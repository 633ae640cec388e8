//! Where output goes; with the spill the only place that creates a file.
//!
//! A file is written whole or not at all: the text goes to a temporary file in the same directory,
//! which then takes the name. It never lies inside a tree that is being audited, and does not take
//! the name of a file that is there unless that was asked for. A reader of standard output that goes
//! away (`| head`) is a normal end.

use crate::error::AuditError;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What to do when the name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave the file that is there alone and fail.
    Keep,
    /// Put the new one in its place.
    Replace,
}

/// What an output file must not touch.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    /// Directories in which nothing is written, canonical.
    trees: Vec<PathBuf>,
    /// Files that are not replaced, canonical.
    files: Vec<PathBuf>,
}

impl Sink {
    /// A sink that stays out of what is audited: out of directories and all that is below them, and
    /// out of the partition directory of a single file.
    #[must_use]
    pub fn beside(audited: &[PathBuf]) -> Self {
        let mut sink = Self::default();
        for path in audited {
            // What cannot be resolved cannot be read either, and the audit says so itself.
            let Ok(path) = fs::canonicalize(path) else {
                continue;
            };
            if path.is_dir() {
                sink.trees.push(path);
            } else {
                sink.trees.extend(path.parent().filter(|parent| is_partition(parent)).map(Path::to_path_buf));
                sink.files.push(path);
            }
        }
        sink
    }

    /// Checks a name before the work begins, so that an audit of an hour does not end with nowhere
    /// to put its result.
    pub fn check(&self, path: &Path, existing: Existing) -> Result<(), AuditError> {
        if is_device(path) {
            return Ok(());
        }
        self.place(path, existing).map(|_| ()).map_err(|source| output_error(path, source))
    }

    /// Checks a directory for temporary files: it is there, and not in what is audited.
    pub fn check_directory(&self, path: &Path) -> Result<(), AuditError> {
        self.outside(path).map_err(|source| AuditError::Temporary { directory: path.to_path_buf(), source })
    }

    fn outside(&self, path: &Path) -> io::Result<()> {
        let directory = fs::canonicalize(path)?;
        if !directory.is_dir() {
            return Err(io::Error::other("it is no directory"));
        }
        match self.trees.iter().find(|tree| directory.starts_with(tree)) {
            Some(tree) => Err(in_tree(tree)),
            None => Ok(()),
        }
    }

    /// Writes a file, whole or not at all.
    pub fn write(
        &self,
        path: &Path,
        existing: Existing,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), AuditError> {
        self.write_whole(path, existing, content).map_err(|source| output_error(path, source))
    }

    fn write_whole(
        &self,
        path: &Path,
        existing: Existing,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> io::Result<()> {
        if is_device(path) {
            let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
            content(&mut out)?;
            return out.flush();
        }
        let place = self.place(path, existing)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".dedup-audit-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // As any new file of the user: less what the umask takes away.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut out = BufWriter::new(builder.tempfile_in(place.parent().unwrap_or(Path::new("/")))?);
        content(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        match existing {
            Existing::Keep => file.persist_noclobber(&place),
            Existing::Replace => file.persist(&place),
        }
        .map_err(|error| taken(error.error))?;
        Ok(())
    }

    /// The canonical directory and the name in it, when a file may be put there.
    fn place(&self, path: &Path, existing: Existing) -> io::Result<PathBuf> {
        let name = path.file_name().ok_or_else(|| io::Error::other("it is no file name"))?;
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let directory = fs::canonicalize(directory).map_err(|error| {
            let why = format!("the directory {} is not there", directory.display());
            if error.kind() == io::ErrorKind::NotFound { io::Error::new(error.kind(), why) } else { error }
        })?;
        let place = directory.join(name);
        if let Some(tree) = self.trees.iter().find(|tree| directory.starts_with(tree)) {
            return Err(in_tree(tree));
        }
        if self.files.contains(&place)
            || fs::canonicalize(&place).is_ok_and(|target| self.files.contains(&target))
        {
            return Err(io::Error::other("it is being audited"));
        }
        match fs::symlink_metadata(&place) {
            Ok(there) if there.is_dir() => Err(io::Error::other("it is a directory")),
            Ok(_) if existing == Existing::Keep => Err(taken(io::ErrorKind::AlreadyExists.into())),
            Ok(_) => Ok(place),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(place),
            Err(error) => Err(error),
        }
    }
}

/// Writes to standard output and flushes; a reader that went away is no error.
pub fn print(
    out: &mut dyn Write,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), AuditError> {
    match content(out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|source| output_error(Path::new("standard output"), source)),
    }
}

fn output_error(path: &Path, source: io::Error) -> AuditError {
    AuditError::Output { path: path.to_path_buf(), source }
}

fn in_tree(tree: &Path) -> io::Error {
    io::Error::other(format!(
        "it lies in {}, which is being audited; nothing is written there",
        tree.display()
    ))
}

/// Says what to do about a name that is taken.
fn taken(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return io::Error::new(error.kind(), "it is there already; --force replaces it");
    }
    error
}

/// Whether a name stands for a device or a pipe: it is written to, and nothing is put in its place.
fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Whether a directory is named like a partition: `topic-7`.
fn is_partition(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    name.rsplit_once('-').is_some_and(|(topic, number)| {
        !topic.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(out: &mut (dyn Write + Send)) -> io::Result<()> {
        out.write_all(b"hello")
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("report.json");
        let sink = Sink::beside(&[]);
        let failed = sink.write(&path, Existing::Keep, |out| {
            out.write_all(b"half of it")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("report.json: no more"));
        assert!(names(home.path()).is_empty(), "nothing is left behind");
        sink.write(&path, Existing::Keep, hello).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hello");
        assert_eq!(names(home.path()), ["report.json"]);
    }

    #[test]
    fn a_file_that_is_there_stays_unless_told_otherwise() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("report.json");
        fs::write(&path, "old").unwrap();
        let sink = Sink::beside(&[]);
        let refused = sink.write(&path, Existing::Keep, hello).unwrap_err();
        assert!(refused.to_string().contains("--force"), "{refused}");
        assert!(sink.check(&path, Existing::Keep).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        sink.write(&path, Existing::Replace, hello).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hello");
    }

    #[test]
    fn nothing_is_written_into_an_audited_tree() {
        let home = tempfile::tempdir().unwrap();
        let partition = home.path().join("orders-0");
        fs::create_dir(&partition).unwrap();
        let log = partition.join("00000000000000000000.log");
        fs::write(&log, "log").unwrap();
        for audited in [home.path().to_path_buf(), partition.clone(), log.clone()] {
            let sink = Sink::beside(&[audited]);
            let refused = sink.write(&partition.join("report.json"), Existing::Replace, hello).unwrap_err();
            assert!(refused.to_string().contains("being audited"), "{refused}");
            assert!(sink.write(&log, Existing::Replace, hello).is_err());
        }
        let roundabout = home.path().join("orders-0/../orders-0/report.json");
        assert!(Sink::beside(std::slice::from_ref(&partition)).check(&roundabout, Existing::Keep).is_err());
        assert_eq!(names(&partition), ["00000000000000000000.log"]);
        assert_eq!(fs::read(&log).unwrap(), b"log");
    }

    #[test]
    fn temporary_files_stay_out_of_what_is_audited() {
        let home = tempfile::tempdir().unwrap();
        let partition = home.path().join("orders-0");
        fs::create_dir(&partition).unwrap();
        let sink = Sink::beside(std::slice::from_ref(&partition));
        assert!(sink.check_directory(home.path()).is_ok());
        let refused = sink.check_directory(&partition).unwrap_err().to_string();
        assert!(refused.contains("being audited"), "{refused}");
        assert!(sink.check_directory(&home.path().join("gone")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_does_not_lead_into_an_audited_tree() {
        let home = tempfile::tempdir().unwrap();
        let partition = home.path().join("orders-0");
        fs::create_dir(&partition).unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&partition, &link).unwrap();
        assert!(
            Sink::beside(std::slice::from_ref(&partition))
                .check(&link.join("report.json"), Existing::Keep)
                .is_err()
        );
        assert!(
            Sink::beside(std::slice::from_ref(&link))
                .check(&partition.join("report.json"), Existing::Keep)
                .is_err()
        );
    }

    #[test]
    fn a_single_file_does_not_forbid_its_ordinary_neighbours() {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("00000000000000000000.log");
        fs::write(&log, "log").unwrap();
        let sink = Sink::beside(std::slice::from_ref(&log));
        assert!(sink.check(&home.path().join("report.json"), Existing::Keep).is_ok());
        assert!(sink.check(&log, Existing::Replace).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_stays_a_device() {
        use std::os::unix::fs::FileTypeExt as _;
        let sink = Sink::beside(&[]);
        for existing in [Existing::Keep, Existing::Replace] {
            sink.check(Path::new("/dev/null"), existing).unwrap();
            sink.write(Path::new("/dev/null"), existing, hello).unwrap();
        }
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    fn a_reader_that_went_away_is_a_normal_end() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(print(&mut Gone, |out| out.write_all(b"hello")).is_ok());
        assert!(print(&mut Gone, |_| Err(io::Error::other("disk"))).is_err());
    }
}
