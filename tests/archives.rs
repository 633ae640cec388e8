//! Archives of log directories say what the directories say; hostile ones are told of, and the rest of
//! them is read.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

fn root(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario)
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit")).args(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The answer, without what names the input or the time of its files.
fn answer(arguments: &[&str], inputs: &[&Path]) -> (Option<i32>, Value) {
    let inputs: Vec<&str> = inputs.iter().map(|path| text(path)).collect();
    let output = run(&[arguments, &inputs, &["--format", "json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    let mut answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {arguments:?} {} {said}", output.status));
    answer["invocation"] = Value::Null;
    for evidence in answer["evidence"].as_array_mut().into_iter().flatten() {
        evidence["directory"] = Value::Null;
        // An archive has whole seconds.
        evidence["newestFileTime"] = Value::Null;
    }
    (output.status.code(), answer)
}

/// The directory as an archive, in the three ways of packing it.
fn packed(directory: &Path, into: &Path) -> Vec<PathBuf> {
    let mut builder = Builder::new(Vec::new());
    builder.append_dir_all(".", directory).unwrap();
    written(&builder.into_inner().unwrap(), into)
}

fn written(plain: &[u8], into: &Path) -> Vec<PathBuf> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(plain).unwrap();
    let forms = [
        ("copy.tar", plain.to_vec()),
        ("copy.tar.gz", gzip.finish().unwrap()),
        ("copy.tar.zst", zstd::encode_all(plain, 1).unwrap()),
    ];
    forms
        .into_iter()
        .map(|(name, bytes)| {
            let path = into.join(name);
            fs::write(&path, bytes).unwrap();
            path
        })
        .collect()
}

/// `tar` stores a file that it meets a second time as a hard link: to itself, or to its other name.
#[test]
fn a_hard_link_is_read_as_the_file_in_front_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let directory = root("crash-restart-resend").join("data");
    let (status, of_directory) = answer(&["scan"], &[&directory]);
    let mut builder = Builder::new(Vec::new());
    builder.append_dir_all("first", &directory).unwrap();
    let mut files = Vec::new();
    for partition in
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        files.extend(fs::read_dir(partition).unwrap().map(|entry| entry.unwrap().path()));
    }
    for path in files.iter().chain(&[directory.join("meta.properties")]) {
        let inner = path.strip_prefix(&directory).unwrap().to_str().unwrap();
        for name in [format!("first/{inner}"), format!("second/{inner}")] {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Link);
            header.set_size(0);
            builder.append_link(&mut header, name, format!("first/{inner}")).unwrap();
        }
    }
    for archive in written(&builder.into_inner().unwrap(), folder.path()) {
        for part in ["first", "second"] {
            let mut within = archive.clone().into_os_string();
            within.push(format!("!/{part}"));
            let (found, of_link) = answer(&["scan"], &[Path::new(&within)]);
            assert_eq!(
                (found, &of_link["findings"][0]["counts"]),
                (status, &of_directory["findings"][0]["counts"])
            );
            assert_eq!(of_link["coverage"]["records"], of_directory["coverage"]["records"], "{part}");
        }
    }
}

/// The header of an entry that only GNU tar writes.
fn gnu_header(kind: u8, name: &str) -> Header {
    let mut header = Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_entry_type(EntryType::new(kind));
    header
}

/// The same with its checksum, and data filled up to whole blocks.
fn gnu_entry(mut header: Header, data: &[u8]) -> Vec<u8> {
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

#[test]
fn an_archive_with_a_label_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let directory = root("crash-restart-resend").join("data");
    let of_directory = answer(&["scan"], &[&directory]);
    let mut builder = Builder::new(Vec::new());
    builder.append_dir_all(".", &directory).unwrap();
    // GNU tar 1.34 leaves all numbers of it but the time blank.
    let mut plain = gnu_entry(gnu_header(b'V', "backup of broker 1"), &[]);
    assert_eq!(plain[124..136], [0; 12], "no size");
    plain.extend(builder.into_inner().unwrap());
    for archive in written(&plain, folder.path()) {
        assert!(answer(&["scan"], &[&archive]) == of_directory, "{}", archive.display());
    }
    // A file without a size is no file.
    let blank = gnu_entry(gnu_header(b'0', "orders-0/00000000000000000000.log"), &[]);
    let path = folder.path().join("blank.tar");
    fs::write(&path, blank).unwrap();
    assert_eq!(run(&["scan", text(&path)]).status.code(), Some(2));
}

#[test]
fn an_incremental_archive_is_read_and_what_it_leaves_out_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let directory = root("crash-restart-resend").join("data");
    let of_directory = answer(&["scan"], &[&directory]);
    let log = "00000000000000000000.log";
    let packed = |listed: &[u8]| {
        let mut plain = Vec::new();
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut add = |path: &Path, name: &str| {
                let bytes = fs::read(path).unwrap();
                let mut header = gnu_header(b'0', name);
                header.set_size(bytes.len() as u64);
                let modified = fs::metadata(path).unwrap().modified().unwrap();
                header.set_mtime(modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs());
                plain.extend(gnu_entry(header, &bytes));
            };
            if path.is_file() {
                add(&path, &name);
                continue;
            }
            let list: &[u8] = if name == "orders-0" { listed } else { b"Ysomething\0\0" };
            let mut header = gnu_header(b'D', &format!("{name}/"));
            header.set_size(list.len() as u64);
            let directory = gnu_entry(header, list);
            let files: Vec<_> = fs::read_dir(&path)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            for file in files {
                add(&path.join(&file), &format!("{name}/{file}"));
            }
            // The children may come before their directory, too.
            plain.extend(directory);
        }
        // Two empty blocks close it.
        plain.resize(plain.len() + 1024, 0);
        written(&plain, folder.path())
    };
    // A code and a name each, closed by an empty one; as long as several blocks.
    let mut list = format!("Y{log}\0").into_bytes();
    for number in 0..100 {
        list.extend(format!("Nnotes-about-{number}.txt\0").into_bytes());
    }
    list.push(0);
    for archive in packed(&list) {
        assert!(answer(&["scan"], &[&archive]) == of_directory, "{}", archive.display());
    }
    let later = "00000000000000000077.log";
    for archive in packed(format!("Y{log}\0N{later}\0\0").as_bytes()) {
        let (_, told) = answer(&["scan"], &[&archive]);
        let coverage = told["coverage"].to_string();
        assert!(
            coverage.contains("what changed since another one") && coverage.contains(later),
            "{coverage}"
        );
        assert_eq!(told["verdict"]["complete"], false);
    }
}

#[test]
fn an_incremental_archive_of_directories_alone_is_read_and_what_is_absent_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let list = b"N00000000000000000000.log\0N00000000000000000000.index\0Npartition.metadata\0\0";
    let mut gnu = Vec::new();
    let mut pax = Vec::new();
    for name in ["copy/orders-0/", "copy/orders-1/"] {
        let mut header = gnu_header(b'D', name);
        header.set_size(list.len() as u64);
        gnu.extend(gnu_entry(header, list));
        let mut attribute = b" GNU.dumpdir=".to_vec();
        attribute.extend(list);
        attribute.push(b'\n');
        let length = attribute.len() + 2;
        let attribute = [format!("{length}").into_bytes(), attribute].concat();
        assert_eq!(attribute.len(), length);
        let mut header = gnu_header(b'x', "attributes");
        header.set_size(attribute.len() as u64);
        pax.extend(gnu_entry(header, &attribute));
        let mut header = gnu_header(b'5', name);
        header.set_size(0);
        pax.extend(gnu_entry(header, b""));
    }
    for plain in [&mut gnu, &mut pax] {
        plain.resize(plain.len() + 1024, 0);
        for archive in written(plain, folder.path()) {
            let (status, told) = answer(&["scan"], &[&archive]);
            assert_eq!(status, Some(3), "{}", archive.display());
            let names: Vec<_> = told["coverage"]["damage"]
                .as_array()
                .unwrap()
                .iter()
                .map(|damage| damage["detail"].as_str().unwrap())
                .collect();
            assert!(names.iter().any(|said| said.contains("orders-1") && said.contains(".log")), "{names:?}");
            assert_eq!(told["coverage"]["partitions"], 2);
        }
    }
}

#[test]
fn an_archive_without_a_partition_says_what_is_wrong_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let done = Command::new(env!("CARGO_BIN_EXE_dedup-audit")).arg("scan").arg(&path).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{name}");
        String::from_utf8(done.stderr).unwrap()
    };
    let mut header = gnu_header(b'5', "copy/");
    header.set_size(0);
    assert!(refused("cut.tar", &gnu_entry(header, b"")).contains("without the two empty blocks"));
    for name in ["a.tar.xz", "a.tar", "a.tar.gz"] {
        let said = refused(name, b"\xfd7zXZ\0\0\x04 and more");
        assert!(said.contains("what xz packed is not read"), "{name}: {said}");
    }
}

#[test]
fn an_archive_behind_an_archive_is_said_however_far_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let directory = root("crash-restart-resend").join("data");
    let mut builder = Builder::new(Vec::new());
    builder.append_dir_all(".", &directory).unwrap();
    let one = builder.into_inner().unwrap();
    // `tar -b 4096` fills up to two megabytes.
    for zeros in [0, 64 << 10, 2 << 20] {
        let filled = |tail: &[u8]| [&one[..], &vec![0; zeros], tail].concat();
        for archive in written(&filled(&one), folder.path()) {
            let (status, told) = answer(&["scan"], &[&archive]);
            let coverage = told["coverage"].to_string();
            assert!(
                coverage.contains("bytes behind the end of the archive"),
                "{zeros} {status:?} {coverage}"
            );
        }
        for archive in written(&filled(&[]), folder.path()) {
            let (_, told) = answer(&["scan"], &[&archive]);
            assert!(!told["coverage"].to_string().contains("behind the end"), "{zeros}");
        }
    }
}

#[test]
fn an_archive_says_what_its_directory_says() {
    for (scenario, data) in [
        ("crash-restart-resend", "data"),
        ("mixed-incident", "data"),
        ("swap-leftovers", "data"),
        ("snapshot-damage", "data"),
        ("offsets-topic", "data"),
        ("compacted", "data"),
        ("txn-hanging", "data"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let directory = root(scenario).join(data);
        let (status, of_directory) = answer(&["scan"], &[&directory]);
        for archive in packed(&directory, folder.path()) {
            let (of_archive_status, of_archive) = answer(&["scan"], &[&archive]);
            assert_eq!(of_archive_status, status, "{}", archive.display());
            assert!(of_archive == of_directory, "{}", archive.display());
        }
    }
}

#[test]
fn every_command_that_reads_evidence_reads_archives() {
    let folder = tempfile::tempdir().unwrap();
    let directory = root("offsets-topic").join("data");
    let list = folder.path().join("keys.txt");
    fs::write(&list, "order-1\nnever-sent\n").unwrap();
    let questions: [&[&str]; 5] = [
        &["producers"],
        &["keys"],
        &["trace", "order-1"],
        &["offsets"],
        &["reconcile", "--expect", text(&list)],
    ];
    for archive in packed(&directory, folder.path()) {
        for question in questions {
            let (status, of_directory) = answer(question, &[&directory]);
            assert_eq!(
                answer(question, &[&archive]),
                (status, of_directory),
                "{question:?} {}",
                archive.display()
            );
        }
        let (status, compared) = answer(&["compare"], &[&directory, &archive]);
        assert_eq!(status, Some(0), "{compared:#}");
        let pairs = compared["pairs"].as_array().unwrap();
        assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair["equal"] == true), "{compared:#}");
    }
}

#[test]
fn what_lies_in_an_archive_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let directory = root("offsets-topic").join("data");
    let log = "orders-0/00000000000000000000.log";
    for archive in packed(&directory, folder.path()) {
        let inside = PathBuf::from(format!("{}!/orders-0", archive.display()));
        let (status, of_partition) = answer(&["scan"], &[&inside]);
        let (expected, of_directory) = answer(&["scan"], &[&directory.join("orders-0")]);
        assert_eq!(status, expected);
        assert_eq!(of_partition["findings"], of_directory["findings"]);
        assert_eq!(of_partition["coverage"]["records"], of_directory["coverage"]["records"]);
        let named = format!("{}!/{log}", archive.display());
        let dumped = run(&["dump", &named, "--offsets", "3..5"]);
        assert_eq!(dumped.status.code(), Some(0), "{dumped:?}");
        let plain = run(&["dump", text(&directory.join(log)), "--offsets", "3..5"]);
        let lines = |output: &Output| -> Vec<String> {
            let out = String::from_utf8_lossy(&output.stdout).into_owned();
            out.lines().filter(|line| !line.starts_with("Dumping")).map(str::to_owned).collect()
        };
        assert!(!lines(&dumped).is_empty());
        assert_eq!(lines(&dumped), lines(&plain));
        for (path, reason) in
            [(text(&archive).to_owned(), "name a file in it"), (format!("{named}x"), "holds no such file")]
        {
            let output = run(&["dump", &path]);
            assert_eq!(output.status.code(), Some(2));
            assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
        }
        let nowhere = run(&["scan", &format!("{}!/nowhere", archive.display())]);
        assert_eq!(nowhere.status.code(), Some(2), "{nowhere:?}");
    }
}

#[test]
fn an_archive_is_known_whatever_the_case_of_its_ending() {
    let folder = tempfile::tempdir().unwrap();
    let directory = root("offsets-topic").join("data");
    let expected = answer(&["scan"], &[&directory]).1["coverage"]["records"].clone();
    for archive in packed(&directory, folder.path()) {
        let name = text(&archive).to_owned();
        let (start, ending) = name.split_once(".tar").unwrap();
        let renamed = PathBuf::from(format!("{start}.Tar{}", ending.to_uppercase()));
        fs::rename(&archive, &renamed).unwrap();
        assert_eq!(answer(&["scan"], &[&renamed]).1["coverage"]["records"], expected, "{renamed:?}");
    }
}

/// An archive with one partition, and what is put around it.
struct Hostile {
    builder: Builder<Vec<u8>>,
    log: Vec<u8>,
}

impl Hostile {
    fn new() -> Self {
        let log =
            fs::read(root("crash-restart-resend").join("data/orders-0/00000000000000000000.log")).unwrap();
        Self { builder: Builder::new(Vec::new()), log }
    }

    fn entry(&mut self, name: &[u8], kind: EntryType, link: &str, data: &[u8]) -> &mut Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(data.len() as u64);
        if !link.is_empty() {
            header.set_link_name(link).unwrap();
        }
        // The library refuses names that lead out.
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_cksum();
        self.builder.append(&header, data).unwrap();
        self
    }

    fn partition(&mut self) -> &mut Self {
        let log = self.log.clone();
        self.entry(b"orders-0/00000000000000000000.log", EntryType::Regular, "", &log)
    }

    fn bytes(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.builder, Builder::new(Vec::new())).into_inner().unwrap()
    }
}

/// What is said of an archive: exit status, and each place of damage and note.
fn told(archive: &Path) -> (Option<i32>, u64, Vec<String>) {
    let (status, report) = answer(&["scan", "--fail-on", "never"], &[archive]);
    let list = |name: &str| report["coverage"][name].as_array().unwrap().clone();
    let damage = list("damage").into_iter().map(|one| {
        format!(
            "{} at {}: {}",
            one["file"].as_str().unwrap(),
            one["position"],
            one["detail"].as_str().unwrap()
        )
    });
    let notes = list("notes").into_iter().map(|one| {
        format!("{}: {}", one["file"].as_str().unwrap_or_default(), one["detail"].as_str().unwrap())
    });
    (status, report["coverage"]["records"].as_u64().unwrap(), damage.chain(notes).collect())
}

#[test]
fn hostile_entries_are_told_of_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let check = |bytes: Vec<u8>, status: i32, words: &[&str]| {
        for archive in written(&bytes, folder.path()) {
            let (found, records, said) = told(&archive);
            assert_eq!(found, Some(status), "{said:#?}");
            assert!(records > 0, "{said:#?}");
            for word in words {
                assert!(said.iter().any(|line| line.contains(word)), "{word}: {said:#?}");
            }
        }
        for entry in folder.path().read_dir().unwrap() {
            assert!(entry.unwrap().file_name().to_string_lossy().starts_with("copy.tar"));
        }
    };
    let log = Hostile::new().log;
    check(Hostile::new().partition().bytes(), 0, &[]);
    check(
        Hostile::new()
            .entry(b"../../orders-1/00000000000000000000.log", EntryType::Regular, "", &log)
            .partition()
            .bytes(),
        3,
        &["copy.tar", "../../orders-1/00000000000000000000.log: its name leads out of the archive, not read"],
    );
    check(
        Hostile::new()
            .partition()
            .entry(b"orders-0/00000000000000000100.log", EntryType::Symlink, "/etc/passwd", &[])
            .entry(
                b"orders-1/00000000000000000000.log",
                EntryType::Link,
                "orders-0/00000000000000000200.log",
                &[],
            )
            .bytes(),
        3,
        &[
            "a symbolic link to /etc/passwd: not followed",
            "a hard link to orders-0/00000000000000000200.log, which does not stand in front of it",
        ],
    );
    check(
        Hostile::new()
            .partition()
            .entry(b"orders-0/00000000000000000100.log", EntryType::GNUSparse, "", &[1])
            .bytes(),
        3,
        &["a file with holes"],
    );
    // A partition of nothing else.
    for (kind, target, word) in [
        (EntryType::Symlink, "/etc/passwd", "a symbolic link"),
        (EntryType::GNUSparse, "", "a file with holes"),
    ] {
        let mut lone = Hostile::new();
        let lone = lone.partition().entry(b"orders-7/00000000000000000000.log", kind, target, &[]);
        check(lone.bytes(), 3, &["orders-7", word]);
    }
    check(
        Hostile::new()
            .entry(b"orders-0/00000000000000000000.log", EntryType::Regular, "", b"old")
            .partition()
            .bytes(),
        0,
        &["stands in the archive more than once: the last one is read"],
    );
    check(
        Hostile::new()
            .entry(b"././@LongLink", EntryType::GNULongName, "", &vec![b'a'; 2 << 20])
            .partition()
            .bytes(),
        3,
        &["a header with 2097152 bytes of names and attributes"],
    );
    check(
        Hostile::new().partition().entry(b"orders-0/\x1b[2J", EntryType::Regular, "", b"x").bytes(),
        0,
        &["not read: \\u{1b}[2J"],
    );
    // A header that is none, in the middle.
    let mut damaged = Hostile::new().entry(b"x", EntryType::Regular, "", b"x").partition().bytes();
    damaged[1] ^= 1;
    let mut other = Hostile::new().partition().bytes();
    other.truncate(other.len() - 1024);
    other.extend_from_slice(&damaged);
    check(
        other,
        3,
        &["no header of an archive: stored checksum", "bytes up to the next header are not read"],
    );
}

#[test]
fn what_is_cut_off_is_read_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = Hostile::new().partition().bytes();
    let (_, all, _) = told(&written(&bytes, folder.path())[0]);
    for archive in written(&bytes[..2048], folder.path()) {
        let (status, records, said) = told(&archive);
        assert_eq!(status, Some(3));
        assert!(records > 0 && records < all, "{records} of {all}: {said:#?}");
        assert!(said.iter().any(|line| line.contains("the archive holds 1536 of them")), "{said:#?}");
    }
    // More than a block of zstd.
    let mut many = Hostile::new();
    let log = many.log.clone();
    for number in 0..40 {
        let name = format!("orders-{number}/00000000000000000000.log");
        many.entry(name.as_bytes(), EntryType::Regular, "", &log);
    }
    for archive in &written(&many.bytes(), folder.path())[1..] {
        let whole = fs::read(archive).unwrap();
        fs::write(archive, &whole[..whole.len() - 20]).unwrap();
        let (status, _, said) = told(archive);
        assert_eq!(status, Some(3), "{said:#?}");
        assert!(said.iter().any(|line| line.contains("cannot be unpacked at")), "{said:#?}");
    }
}

#[test]
fn what_is_no_archive_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, reason) in [
        ("empty.tar", &b""[..], "it is empty"),
        ("text.tar", &[b'x'; 2000][..], "no header of an archive"),
        ("short.tar", &b"short"[..], "a header needs 512 bytes"),
        ("bad.tar.gz", &[0x1f, 0x8b, 9, 0, 0, 0, 0, 0, 0, 0][..], "gzip header"),
        ("bad.tar.zst", &[0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff][..], "cannot be unpacked"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let output = run(&["scan", text(&path)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(reason), "{name}: {said}");
    }
}

#[test]
fn a_size_that_cannot_be_true_takes_no_memory_and_no_end() {
    let folder = TempDir::new().unwrap();
    let mut bytes = Hostile::new().partition().bytes();
    // Eight exabytes, as GNU tar writes large numbers.
    let mut size = [0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0];
    bytes[124..136].swap_with_slice(&mut size);
    bytes[148..156].fill(b' ');
    let sum: u32 = bytes[..512].iter().map(|byte| u32::from(*byte)).sum();
    bytes[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    for archive in written(&bytes, folder.path()) {
        let (status, records, said) = told(&archive);
        assert_eq!(status, Some(3), "{said:#?}");
        assert!(records > 0, "{said:#?}");
        assert!(said.iter().any(|line| line.contains("bytes, the archive holds")), "{said:#?}");
    }
}
