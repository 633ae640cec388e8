//! From what is named to what is read of it.

use crate::tree::{ID, Tree, bases, displays, note_on, numbers};
use dedup_audit::input::{
    DiscoverOptions, LeaderEpochStart, Leftovers, LogDirScope, NameSource, SegmentRole, Selection, discover,
};
use dedup_audit::units::{LeaderEpoch, Offset};

#[test]
fn a_partition_directory_is_read_with_what_lies_around_it() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1")
        .partition("data/orders-0", Some(ID))
        .partition("data/orders-1", Some(ID))
        .file("data/replication-offset-checkpoint", "0\n1\norders 0 14\n");
    let inventory = tree.discover(&["data/orders-0/"]);
    assert_eq!(displays(&inventory), ["orders-0"]);
    assert_eq!(inventory.partitions[0].high_watermark, Some(Offset(14)));
    assert_eq!(inventory.partitions[0].broker_id, Some(1));
    let log_dir = &inventory.log_dirs[0];
    assert_eq!((log_dir.scope, log_dir.clean_shutdown), (LogDirScope::Surroundings, Some(false)));
    assert!(note_on(&inventory, &log_dir.display).contains("replication-offset-checkpoint"));
}

#[test]
fn a_partition_that_was_copied_alone_says_nothing_of_the_shutdown() {
    let tree = Tree::new();
    tree.partition("copy/orders-0", None);
    for path in ["copy", "copy/orders-0"] {
        let inventory = tree.discover(&[path]);
        assert_eq!(displays(&inventory), ["orders-0"]);
        assert_eq!(inventory.log_dirs[0].clean_shutdown, None);
        let scope = if path == "copy" { LogDirScope::Whole } else { LogDirScope::Surroundings };
        assert_eq!(inventory.log_dirs[0].scope, scope);
        assert_eq!(inventory.notes, []);
    }
}

#[test]
fn a_directory_with_another_name_stands_for_its_topic() {
    let tree = Tree::new();
    tree.partition("ticket 4711/evidence", None);
    let inventory = tree.discover(&["ticket 4711/evidence"]);
    let partition = &inventory.partitions[0];
    assert_eq!((partition.topic.as_str(), partition.partition), ("evidence", 0));
    assert_eq!(partition.named_by, NameSource::Assumed);
    assert!(note_on(&inventory, "evidence").contains("not topic-partition"));
}

#[test]
fn a_data_root_called_like_a_partition_is_looked_into() {
    let tree = Tree::new();
    tree.log_dir("srv/kafka-1/data-1", "node.id=1").partition("srv/kafka-1/data-1/orders-0", Some(ID));
    tree.log_dir("srv/kafka-2/data-1", "node.id=2").partition("srv/kafka-2/data-1/orders-0", Some(ID));
    let inventory = tree.discover(&["srv"]);
    assert_eq!(displays(&inventory), ["kafka-1/data-1/orders-0", "kafka-2/data-1/orders-0"]);
    assert_eq!(inventory.replica_groups.len(), 1);
}

#[test]
fn equal_names_below_several_paths_are_told_apart_by_their_log_directory() {
    let tree = Tree::new();
    tree.log_dir("data-1", "node.id=1").partition("data-1/orders-0", Some(ID));
    tree.log_dir("data-2", "node.id=2").partition("data-2/orders-0", Some(ID));
    assert_eq!(displays(&tree.discover(&["data-1", "data-2"])), ["data-1/orders-0", "data-2/orders-0"]);
}

#[test]
fn the_order_and_the_repetition_of_paths_change_nothing() {
    let tree = Tree::new();
    tree.log_dir("root/data-1", "node.id=1").partition("root/data-1/orders-0", Some(ID));
    tree.log_dir("root/data-2", "node.id=1").partition("root/data-2/orders-1", Some(ID));
    tree.partition("other/orders-0", None).file("root/README", "");
    let reference = format!("{:?}", tree.discover(&["root", "other"]));
    for paths in [
        &["other", "root"][..],
        &["root", "other", "root", "root/data-1/.", "root/data-2/"],
        &["root/data-1/orders-0", "other/orders-0", "other", "root"],
        &["root/data-2/orders-1/00000000000000000005.log", "other", "root"],
    ] {
        let found = tree.discover(paths);
        assert_eq!(found.partitions.len(), 3, "{paths:?}");
        let bases = format!("{:?}", found.partitions.iter().map(bases).collect::<Vec<_>>());
        assert_eq!(bases, "[[0, 5, 10], [0, 5, 10], [0, 5, 10]]");
        if paths.len() == 2 {
            assert_eq!(format!("{found:?}"), reference);
        }
    }
    assert_eq!(format!("{:?}", tree.discover(&["root", "other", "root/"])), reference);
}

#[test]
fn single_files_are_cut_out_of_their_partition() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1")
        .partition("data/orders-0", Some(ID))
        .file("data/replication-offset-checkpoint", "0\n1\norders 0 15\n");
    let segment = "data/orders-0/00000000000000000005.log";
    let snapshot = "data/orders-0/00000000000000000010.snapshot";
    let inventory = tree.discover(&[snapshot, segment]);
    let [partition] = inventory.partitions.as_slice() else { panic!() };
    assert_eq!(partition.selection, Selection::Files { left_out: vec![Offset(0), Offset(10)] });
    assert_eq!((bases(partition), numbers(partition)), (vec![5], vec![10]));
    assert_eq!(partition.segments[0].role, SegmentRole::Closed);
    // What lies beside them must not make records look missing that were not named.
    assert_eq!(partition.log_start_offset, Offset(5));
    assert_eq!(partition.high_watermark, None);
    let epoch = |epoch, start| LeaderEpochStart { epoch: LeaderEpoch(epoch), start_offset: Offset(start) };
    assert_eq!(partition.leader_epochs, [epoch(0, 5), epoch(3, 7)]);
    let last = tree.discover(&["data/orders-0/00000000000000000010.log"]);
    assert_eq!(last.partitions[0].segments[0].role, SegmentRole::Active);
    assert_eq!(last.partitions[0].high_watermark, Some(Offset(15)));
    assert_eq!(last.partitions[0].leader_epochs, [epoch(3, 10)]);
}

#[test]
fn a_path_that_does_not_exist_is_explained() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1").partition("data/orders-0", None).file("empty/notes.txt", "");
    let error = |path| tree.try_discover(&[path], Leftovers::SetAside).unwrap_err();
    let message = error("data/ordres-0/x");
    assert!(message.contains("does not exist") && message.contains("holds orders-0"), "{message}");
    assert!(error("empty").ends_with("empty: no partition directories below"));
    assert!(error("empty/notes.txt").contains("20 digits"));
    assert!(discover(&[], &DiscoverOptions::default()).is_err());
    // One wrong path is an error also beside a right one; one that holds nothing is told.
    assert!(tree.try_discover(&["data", "nothing"], Leftovers::SetAside).is_err());
    for paths in [["data", "empty"], ["empty", "data"]] {
        let inventory = tree.try_discover(&paths, Leftovers::SetAside).unwrap();
        assert_eq!(inventory.partitions.len(), 1);
        let told: Vec<_> = inventory.notes.iter().filter(|note| note.file.ends_with("empty")).collect();
        assert_eq!(told.len(), 1, "{:?}", inventory.notes);
        assert!(told[0].detail.starts_with("no partition directories below"), "{told:?}");
        assert!(matches!(inventory.empty_paths.as_slice(), [only] if only.ends_with("empty")));
    }
}

#[test]
fn an_empty_log_directory_beside_a_full_one_is_no_error() {
    let tree = Tree::new();
    tree.log_dir("data-1", "node.id=1").log_dir("data-2", "node.id=1").partition("data-1/orders-0", None);
    assert_eq!(tree.discover(&["data-1", "data-2"]).log_dirs.len(), 2);
    assert!(tree.try_discover(&["data-2"], Leftovers::SetAside).is_err());
}

#[cfg(unix)]
#[test]
fn a_named_link_is_followed_and_a_link_that_is_met_is_not() {
    let tree = Tree::new();
    tree.log_dir("disk", "node.id=1").partition("disk/orders-0", None);
    tree.log_dir("data", "node.id=1").partition("data/orders-1", None);
    std::os::unix::fs::symlink(tree.at("disk/orders-0"), tree.at("data/orders-0")).unwrap();
    std::os::unix::fs::symlink(tree.at("nowhere"), tree.at("data/orders-1/x.log")).unwrap();
    std::os::unix::fs::symlink(tree.at("data"), tree.at("data/loop")).unwrap();
    // Of a partition that holds nothing else, the records are missed all the same.
    let lone = "orders-2/00000000000000000000.log";
    std::fs::create_dir(tree.at("data/orders-2")).unwrap();
    std::os::unix::fs::symlink(tree.at("nowhere"), tree.at("data").join(lone)).unwrap();
    let inventory = tree.discover(&["data"]);
    assert_eq!(displays(&inventory), ["orders-1", "orders-2"]);
    // What they point to may hold records that go unread.
    for file in ["orders-0", "orders-1/x.log", lone] {
        let found = inventory.damage.iter().find(|found| found.file == file);
        assert!(found.is_some_and(|found| found.damage.detail.contains("not followed")), "{file}");
    }
    let inventory = tree.discover(&["data/orders-0"]);
    assert_eq!(displays(&inventory), ["orders-0"]);
    assert_eq!(inventory.partitions[0].path, tree.at("disk/orders-0"));
}

#[test]
fn partitions_are_found_in_the_volumes_of_pods_and_what_lies_too_deep_is_said() {
    let tree = Tree::new();
    let mount = "lib/kubelet/pods/6f0e-12/volumes/kubernetes.io~csi/pvc-1/mount/kafka-log0";
    tree.partition("near/orders-0", Some(ID)).partition(&format!("{mount}/orders-1"), Some(ID));
    let found = tree.discover(&[""]);
    assert_eq!(found.partitions.len(), 2, "{:?}", displays(&found));
    assert!(found.damage.is_empty(), "{:?}", found.damage);
    tree.partition(&format!("{}orders-2", "deep/".repeat(40)), Some(ID));
    let found = tree.discover(&[""]);
    assert_eq!(found.partitions.len(), 2, "{:?}", displays(&found));
    let said = &found.damage[0].damage.detail;
    assert_eq!(said, "a directory lies more than 32 levels below it: not looked into");
}
