//! Nothing is changed in what is audited.

use crate::tree::{ID, Tree};
use dedup_audit::input::Leftovers;
use std::fs;
use std::path::{Path, PathBuf};

/// Every path below `path` with what a change would change.
fn state_of(path: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.push((path, metadata.len(), metadata.modified().unwrap()));
    }
    found.sort();
    found
}

#[cfg(unix)]
#[test]
fn nothing_is_changed_and_a_read_only_tree_will_do() {
    use dedup_audit::format::ByteSource;
    use dedup_audit::input::{ReadMode, open_segment};
    use std::os::unix::fs::PermissionsExt;

    let tree = Tree::new();
    tree.log_dir("data", "node.id=1")
        .partition("data/orders-0", Some(ID))
        .segment("data/orders-0/00000000000000000000.log.swap", 0, 5)
        .file("data/replication-offset-checkpoint", "0\n1\norders 0 15\n");
    let modes = |file, directory| {
        for (path, ..) in state_of(&tree.at("data")) {
            let mode = if path.is_dir() { directory } else { file };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    modes(0o444, 0o555);
    let before = state_of(&tree.at("data"));
    let inventory = tree.try_discover(&["data"], Leftovers::List).unwrap();
    for segment in inventory.partitions.iter().flat_map(|partition| &partition.segments) {
        for mode in [ReadMode::Positioned, ReadMode::Mapped] {
            let mut source = open_segment(&segment.place, mode, segment.len).unwrap();
            assert!(!source.window(0, 61).unwrap().is_empty());
        }
    }
    assert_eq!(state_of(&tree.at("data")), before);
    modes(0o644, 0o755);
}
