//! What the files beside the logs say.

use crate::tree::{ID, Tree, bases, displays, note_on, numbers};
use dedup_audit::input::{LogDirScope, SegmentRole};
use dedup_audit::testkit::SegmentBuilder;
use dedup_audit::units::{LogStartSource, Offset};
use std::fs;

#[test]
fn a_log_directory_is_read_with_all_that_its_files_say() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1\ncluster.id=c\ndirectory.id=d")
        .partition("data/a.b-c-0", Some(ID))
        .partition("data/__consumer_offsets-7", None)
        .file("data/.kafka_cleanshutdown", "{\"version\":0,\"brokerEpoch\":11}")
        .file("data/replication-offset-checkpoint", "0\n1\na.b-c 0 14\n")
        .file("data/recovery-point-offset-checkpoint", "0\n1\na.b-c 0 15\n")
        .file("data/cleaner-offset-checkpoint", "0\n1\na.b-c 0 10\n")
        .file("data/log-start-offset-checkpoint", "0\n1\na.b-c 0 3\n");
    let inventory = tree.discover(&["data"]);
    assert_eq!(displays(&inventory), ["__consumer_offsets-7", "a.b-c-0"]);
    assert_eq!((&inventory.notes, &inventory.damage), (&vec![], &vec![]));
    let [log_dir] = inventory.log_dirs.as_slice() else { panic!() };
    assert_eq!((log_dir.broker_id, log_dir.scope), (Some(1), LogDirScope::Whole));
    assert_eq!((log_dir.cluster_id.as_deref(), log_dir.directory_id.as_deref()), (Some("c"), Some("d")));
    assert_eq!((log_dir.clean_shutdown, log_dir.broker_epoch), (Some(true), Some(11)));
    let [internal, partition] = inventory.partitions.as_slice() else { panic!() };
    assert!(internal.internal && !partition.internal);
    assert_eq!((partition.topic.as_str(), partition.partition), ("a.b-c", 0));
    assert_eq!((partition.topic_id.as_deref(), partition.broker_id), (Some(ID), Some(1)));
    assert_eq!((bases(partition), numbers(partition)), (vec![0, 5, 10], vec![10, 15]));
    let roles: Vec<_> = partition.segments.iter().map(|segment| segment.role).collect();
    assert_eq!(roles, [SegmentRole::Closed, SegmentRole::Closed, SegmentRole::Active]);
    assert_eq!(partition.high_watermark, Some(Offset(14)));
    assert_eq!(partition.recovery_point, Some(Offset(15)));
    assert_eq!(partition.first_dirty_offset, Some(Offset(10)));
    assert_eq!(
        (partition.log_start_offset, partition.log_start_source),
        (Offset(3), LogStartSource::Checkpoint)
    );
    assert_eq!(internal.high_watermark, None);
    assert!(partition.bytes > 0 && partition.files == 10 && partition.newest_file_time.is_some());
}

#[test]
fn a_checkpoint_below_the_first_segment_is_out_of_date() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1")
        .segment("data/orders-0/00000000000000000005.log", 5, 5)
        .file("data/log-start-offset-checkpoint", "0\n1\norders 0 3\n");
    let partition = &tree.discover(&["data"]).partitions[0];
    let start = (partition.log_start_offset, partition.log_start_source);
    assert_eq!(start, (Offset(5), LogStartSource::FirstSegment));
}

#[test]
fn leader_epochs_move_the_log_start_only_where_the_batches_below_have_one() {
    let tree = Tree::new();
    tree.partition("deleted-0", None).file("deleted-0/leader-epoch-checkpoint", "0\n1\n4 3\n");
    // Up to 0.10 no batch had an epoch; the first line is where the upgrade was.
    tree.partition("upgraded-0", None).file("upgraded-0/leader-epoch-checkpoint", "0\n1\n0 5\n").file(
        "upgraded-0/00000000000000000000.log",
        SegmentBuilder::at(0).message(1, "k", "v").message(1, "k", "v").bytes(),
    );
    let inventory = tree.discover(&[""]);
    let starts: Vec<_> =
        inventory.partitions.iter().map(|p| (p.log_start_offset.0, p.log_start_source)).collect();
    assert_eq!(starts, [(3, LogStartSource::LeaderEpochs), (0, LogStartSource::FirstSegment)]);
}

#[test]
fn a_bad_text_file_is_damage_with_its_line_and_the_rest_goes_on() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1")
        .partition("data/orders-0", Some("too-short"))
        .file("data/replication-offset-checkpoint", "0\n2\norders 0 14\norders\n")
        .file("data/recovery-point-offset-checkpoint", "0\n1\norders 0 15\n")
        .file("data/orders-0/leader-epoch-checkpoint", "0\n2\n4 4\n3 7\n")
        .file("data/orders-0/leader-epoch-checkpoint.tmp", "half a li")
        .file("data/log-start-offset-checkpoint.tmp", "half a li");
    let inventory = tree.discover(&["data"]);
    let damage: Vec<_> = inventory.damage.iter().map(|d| (d.file.as_str(), d.damage.kind.name())).collect();
    assert_eq!(
        damage,
        [
            ("orders-0/leader-epoch-checkpoint", "bad-file"),
            ("orders-0/partition.metadata", "bad-file"),
            ("replication-offset-checkpoint", "bad-file")
        ]
    );
    assert!(inventory.damage[2].damage.detail.contains("line 4"), "{}", inventory.damage[2].damage.detail);
    assert!(inventory.damage[2].damage.detail.contains("\"orders\""));
    let partition = &inventory.partitions[0];
    assert_eq!((partition.high_watermark, partition.recovery_point), (None, Some(Offset(15))));
    assert_eq!((partition.topic_id.as_deref(), partition.leader_epochs.len()), (None, 0));
    assert_eq!(bases(partition), [0, 5, 10]);
}

#[test]
fn unknown_entries_are_named_and_known_ones_are_not() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1")
        .partition("data/orders-0", None)
        .file("data/orders-0/remote_log_snapshot", "")
        .file("data/orders-0/00000000000000000000.log.gz", "")
        .file("data/orders-0/old/00000000000000000000.log", "")
        .file("data/.lock", "")
        .file("data/bootstrap.checkpoint", "")
        .file("data/todo.txt", "")
        .file("data/lost+found/x", "")
        .file("data/scripts/run.sh", "");
    let inventory = tree.discover(&["data"]);
    let notes: Vec<_> = inventory.notes.iter().map(|n| (n.file.as_str(), n.detail.as_str())).collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(note_on(&inventory, "orders-0").ends_with("old, 00000000000000000000.log.gz"));
    assert!(note_on(&inventory, &inventory.log_dirs[0].display).ends_with("todo.txt"));
    assert!(note_on(&inventory, "scripts").contains("not read"));
}

#[test]
fn a_directory_under_the_name_of_a_segment_goes_unread_and_that_is_said() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1").partition("data/orders-0", None);
    for name in ["orders-0/00000000000000000015.log", "orders-1/00000000000000000000.log"] {
        fs::create_dir_all(tree.at("data").join(name)).unwrap();
    }
    let inventory = tree.discover(&["data"]);
    assert_eq!(displays(&inventory), ["orders-0", "orders-1"]);
    let unread: Vec<_> = inventory.damage.iter().map(|file| file.damage.detail.as_str()).collect();
    assert_eq!(unread, ["a directory under the name of a file: not read"; 2]);
}

#[test]
fn an_empty_directory_of_a_partition_is_one_in_a_log_directory() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1").partition("data/orders-0", None);
    fs::create_dir(tree.at("data/orders-1")).unwrap();
    let inventory = tree.discover(&["data"]);
    assert_eq!(displays(&inventory), ["orders-0", "orders-1"]);
    assert!(note_on(&inventory, "orders-1").contains("without a segment"));
}
