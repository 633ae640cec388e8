//! What discovery makes of trees like those that brokers leave behind.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its tree up has failed")]

use dedup_audit::input::{
    DiscoverOptions, Inventory, LeaderEpochStart, Leftovers, LogDirScope, NameSource, PartitionDir,
    ReplicaBasis, SegmentRole, Selection, State, discover,
};
use dedup_audit::testkit::{SegmentBuilder, batch};
use dedup_audit::units::{LeaderEpoch, LogStartSource, Offset};
use std::fs;
use std::path::{Path, PathBuf};

const ID: &str = "9Zb-ACHLRrCmbBmjuYMOPg";
const OTHER_ID: &str = "MK2kRgLcTuCEis4kqH_u0g";

/// A tree of files, made by path and content.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// The files of a broker's log directory; `meta` are lines of `meta.properties`.
    fn log_dir(&self, path: &str, meta: &str) -> &Self {
        self.file(&format!("{path}/meta.properties"), format!("#\n{meta}\nversion=1\n"))
            .file(&format!("{path}/cleaner-offset-checkpoint"), "")
    }

    /// A partition of three segments, five records each.
    fn partition(&self, path: &str, topic_id: Option<&str>) -> &Self {
        for base in [0, 5, 10] {
            self.segment(&format!("{path}/{base:020}.log"), base, 5);
            self.file(&format!("{path}/{base:020}.index"), "");
        }
        self.file(&format!("{path}/{:020}.snapshot", 10), "")
            .file(&format!("{path}/{:020}.snapshot", 15), "");
        if let Some(id) = topic_id {
            self.file(&format!("{path}/partition.metadata"), format!("version: 0\ntopic_id: {id}"));
        }
        self.file(&format!("{path}/leader-epoch-checkpoint"), "0\n2\n0 0\n3 7\n")
    }

    /// A segment of one batch.
    fn segment(&self, path: &str, base: i64, records: usize) -> &Self {
        let batch =
            (0..records).fold(batch().leader_epoch(0), |batch, at| batch.record(format!("k{at}"), "v"));
        self.file(path, SegmentBuilder::at(base).batch(batch).bytes())
    }

    fn at(&self, path: &str) -> PathBuf {
        // On some systems the temporary directory is itself behind a link.
        let root = fs::canonicalize(self.0.path()).unwrap();
        if path.is_empty() { root } else { root.join(path) }
    }

    fn discover(&self, paths: &[&str]) -> Inventory {
        self.try_discover(paths, Leftovers::SetAside).unwrap()
    }

    fn try_discover(&self, paths: &[&str], leftovers: Leftovers) -> Result<Inventory, String> {
        let paths: Vec<_> = paths.iter().map(|path| self.at(path)).collect();
        discover(&paths, &DiscoverOptions { leftovers }).map_err(|error| error.to_string())
    }
}

fn displays(inventory: &Inventory) -> Vec<&str> {
    inventory.partitions.iter().map(|partition| partition.display.as_str()).collect()
}

fn bases(partition: &PartitionDir) -> Vec<i64> {
    partition.segments.iter().map(|segment| segment.base.0).collect()
}

fn numbers(partition: &PartitionDir) -> Vec<i64> {
    partition.snapshots.iter().map(|snapshot| snapshot.number.0).collect()
}

fn note_on<'a>(inventory: &'a Inventory, file: &str) -> &'a str {
    let note = inventory.notes.iter().find(|note| note.file == file);
    &note.unwrap_or_else(|| panic!("no note on {file}: {:?}", inventory.notes)).detail
}

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
    // One wrong path is an error also beside a right one.
    assert!(tree.try_discover(&["data", "empty"], Leftovers::SetAside).is_err());
}

#[test]
fn an_empty_log_directory_beside_a_full_one_is_no_error() {
    let tree = Tree::new();
    tree.log_dir("data-1", "node.id=1").log_dir("data-2", "node.id=1").partition("data-1/orders-0", None);
    assert_eq!(tree.discover(&["data-1", "data-2"]).log_dirs.len(), 2);
    assert!(tree.try_discover(&["data-2"], Leftovers::SetAside).is_err());
}

#[test]
fn what_no_broker_would_serve_is_set_aside_and_listed_only_on_request() {
    let tree = Tree::new();
    let unique = "b72df21150c943bc90a55038c093c003";
    let (deleted, stray) = (format!("data/orders-0.{unique}-delete"), format!("data/a-0.{unique}-stray"));
    let future = format!("data/orders-1.{unique}-future");
    tree.log_dir("data", "node.id=1")
        .file("data/replication-offset-checkpoint", "0\n2\norders 0 14\norders 1 15\n")
        .partition("data/orders-0", Some(ID))
        .partition(&deleted, Some(OTHER_ID))
        .partition(&future, Some(ID))
        .partition(&stray, Some(ID));
    let inventory = tree.discover(&["data"]);
    assert_eq!(displays(&inventory), ["orders-0"]);
    assert_eq!(inventory.notes.len(), 3);
    let all = tree.try_discover(&["data"], Leftovers::List).unwrap();
    let states: Vec<_> = all.partitions.iter().map(|p| (p.topic.as_str(), p.partition, p.state)).collect();
    assert_eq!(
        states,
        [
            ("a", 0, State::Stray),
            ("orders", 0, State::Live),
            ("orders", 0, State::Deleted),
            ("orders", 1, State::Future)
        ]
    );
    assert!(all.replica_groups.iter().all(|group| group.members.len() == 1));
    // Checkpoints go by name and speak of the live replica, or of the copy that is being built.
    let marks: Vec<_> = all.partitions.iter().map(|p| p.high_watermark.map(|offset| offset.0)).collect();
    assert_eq!(marks, [None, Some(14), None, Some(15)]);
    // Who names it wants it, whatever else is named.
    assert_eq!(tree.discover(&[&deleted]).partitions[0].state, State::Deleted);
    for paths in [[deleted.as_str(), "data"], ["data", &deleted]] {
        assert_eq!(tree.discover(&paths).partitions.len(), 2);
    }
}

#[test]
fn a_finished_compaction_that_was_not_swapped_in_takes_the_place_of_what_it_replaces() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1").partition("data/orders-0", None);
    // Compacted from 0 to 9: its last batch says that it reaches up to 10.
    let compacted = SegmentBuilder::at(0)
        .batch(batch().record("a", "1").record("b", "2"))
        .skip_to(8)
        .batch(batch().record("c", "3").record("d", "4"))
        .bytes();
    tree.file("data/orders-0/00000000000000000000.log.swap", &compacted)
        .file("data/orders-0/00000000000000000000.index.swap", "")
        .file("data/orders-0/00000000000000000005.snapshot", "");
    let inventory = tree.discover(&["data"]);
    let [partition] = inventory.partitions.as_slice() else { panic!() };
    let names: Vec<_> = partition.segments.iter().map(|segment| segment.file_name.as_str()).collect();
    assert_eq!(names, ["00000000000000000000.log.swap", "00000000000000000010.log"]);
    assert_eq!(numbers(partition), [10, 15]);
    assert!(inventory.notes.iter().any(|note| note.detail.contains("0 up to 10 anew")));
    let all = tree.try_discover(&["data"], Leftovers::List).unwrap();
    let [_, replaced] = all.partitions.as_slice() else { panic!() };
    assert_eq!((replaced.state, bases(replaced)), (State::ReplacedSegments, vec![0, 5]));
    assert_ne!(replaced.replica_group, all.partitions[0].replica_group);

    // With a `.cleaned` file at or below it the split was not finished: the originals count.
    tree.segment("data/orders-0/00000000000000000000.log.cleaned", 0, 2);
    let inventory = tree.discover(&["data"]);
    assert_eq!(bases(&inventory.partitions[0]), [0, 5, 10]);
    assert_eq!(numbers(&inventory.partitions[0]), [5, 10, 15]);
    assert!(note_on(&inventory, "orders-0/00000000000000000000.log.swap").contains("not finished"));

    // A damaged one does not count either while the originals are there.
    fs::remove_file(tree.at("data/orders-0/00000000000000000000.log.cleaned")).unwrap();
    tree.file("data/orders-0/00000000000000000000.log.swap", &compacted[..compacted.len() - 5]);
    let inventory = tree.discover(&["data"]);
    assert_eq!(bases(&inventory.partitions[0]), [0, 5, 10]);
    assert!(note_on(&inventory, "orders-0/00000000000000000000.log.swap").contains("damaged"));
}

#[test]
fn segments_that_wait_to_be_deleted_are_evidence_of_their_own() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1").partition("data/orders-0", Some(ID));
    for base in [0, 5] {
        let name = format!("data/orders-0/{base:020}.log");
        fs::rename(tree.at(&name), tree.at(&format!("{name}.deleted"))).unwrap();
    }
    let inventory = tree.discover(&["data"]);
    assert_eq!(bases(&inventory.partitions[0]), [10]);
    assert!(note_on(&inventory, "orders-0").contains("wait to be deleted"));
    let all = tree.try_discover(&["data"], Leftovers::List).unwrap();
    assert_eq!((all.partitions[1].state, bases(&all.partitions[1])), (State::DeletedSegments, vec![0, 5]));
    let named = tree.discover(&["data/orders-0/00000000000000000005.log.deleted"]);
    let [only] = named.partitions.as_slice() else { panic!() };
    assert_eq!((only.state, bases(only)), (State::DeletedSegments, vec![5]));
}

#[test]
fn naming_all_files_of_a_directory_does_not_mix_in_what_is_left_over() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1").partition("data/orders-0", Some(ID)).segment(
        "data/orders-0/00000000000000000000.log.deleted",
        0,
        5,
    );
    let files = fs::read_dir(tree.at("data/orders-0")).unwrap().chain(fs::read_dir(tree.at("data")).unwrap());
    let files: Vec<_> = files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    let inventory = discover(&files, &DiscoverOptions::default()).unwrap();
    let [partition] = inventory.partitions.as_slice() else { panic!("{:?}", displays(&inventory)) };
    assert_eq!((partition.state, bases(partition)), (State::Live, vec![0, 5, 10]));
    assert_eq!(partition.selection, Selection::Files { left_out: vec![] });
    assert!(note_on(&inventory, "orders-0").contains("not read: 00000000000000000000.log.deleted"));
}

#[test]
fn the_copy_that_a_move_builds_is_no_replica() {
    let tree = Tree::new();
    let future = "data-2/orders-0.b72df21150c943bc90a55038c093c003-future";
    tree.log_dir("data-1", "node.id=1").partition("data-1/orders-0", Some(ID));
    tree.log_dir("data-2", "node.id=1").partition(future, Some(ID));
    let all = tree.try_discover(&[""], Leftovers::List).unwrap();
    assert_eq!((all.partitions.len(), all.replica_groups.len()), (2, 2));
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
fn two_topics_of_one_name_are_never_merged() {
    let tree = Tree::new();
    tree.log_dir("data-1", "node.id=1\ncluster.id=c").partition("data-1/orders-0", Some(ID));
    tree.log_dir("data-2", "node.id=2\ncluster.id=c").partition("data-2/orders-0", Some(OTHER_ID));
    // Which of both this one is cannot be told.
    tree.log_dir("data-3", "node.id=3\ncluster.id=c").partition("data-3/orders-0", None);
    let inventory = tree.discover(&[""]);
    assert_eq!(inventory.replica_groups.len(), 3);
    assert!(note_on(&inventory, "data-2/orders-0").contains("topic ids differ"));
}

#[test]
fn replicas_are_found_by_topic_id_or_else_by_cluster_name_and_broker() {
    for (metas, ids, basis) in [
        (["node.id=1", "node.id=2"], [Some(ID); 2], Some(ReplicaBasis::TopicId)),
        (["", ""], [Some(ID); 2], Some(ReplicaBasis::TopicId)),
        (
            ["broker.id=1\ncluster.id=c", "broker.id=2\ncluster.id=c"],
            [None; 2],
            Some(ReplicaBasis::ClusterAndName),
        ),
        (["broker.id=1", "broker.id=2"], [None; 2], Some(ReplicaBasis::NameOnly)),
        (
            ["node.id=1\ncluster.id=c", "node.id=1\ncluster.id=c"],
            [Some(ID); 2],
            Some(ReplicaBasis::SameBroker),
        ),
        (["broker.id=1\ncluster.id=c", "broker.id=2\ncluster.id=d"], [None; 2], None),
        (["broker.id=1", "broker.id=1"], [None; 2], None),
        (["", ""], [None; 2], None),
    ] {
        let tree = Tree::new();
        for (at, (meta, id)) in metas.iter().zip(ids).enumerate() {
            tree.log_dir(&format!("data-{at}"), meta).partition(&format!("data-{at}/orders-0"), id);
            tree.partition(&format!("data-{at}/orders-{}", at + 1), id);
        }
        let inventory = tree.discover(&[""]);
        let group = &inventory.replica_groups[inventory.partitions[0].replica_group];
        let found = (group.members.len() == 2).then_some(group.basis);
        assert_eq!(found, basis, "{metas:?} {ids:?}");
        assert_eq!(
            inventory.replicas_of(0).collect::<Vec<_>>(),
            if basis.is_some() { vec![1] } else { vec![] }
        );
        let explained = inventory.notes.iter().any(|note| note.file == "data-1/orders-0");
        let needs_no_word = matches!(basis, Some(ReplicaBasis::TopicId | ReplicaBasis::ClusterAndName));
        assert_eq!(explained, !needs_no_word, "{metas:?} {ids:?} {:?}", inventory.notes);
    }
}

#[test]
fn the_metadata_logs_of_two_clusters_have_one_id_and_are_two() {
    let tree = Tree::new();
    let id = Some("AAAAAAAAAAAAAAAAAAAAAQ");
    tree.log_dir("a", "node.id=1\ncluster.id=a").partition("a/__cluster_metadata-0", id);
    tree.log_dir("b", "node.id=2\ncluster.id=b").partition("b/__cluster_metadata-0", id);
    assert_eq!(tree.discover(&[""]).replica_groups.len(), 2);
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
fn an_empty_directory_of_a_partition_is_one_in_a_log_directory() {
    let tree = Tree::new();
    tree.log_dir("data", "node.id=1").partition("data/orders-0", None);
    fs::create_dir(tree.at("data/orders-1")).unwrap();
    let inventory = tree.discover(&["data"]);
    assert_eq!(displays(&inventory), ["orders-0", "orders-1"]);
    assert!(note_on(&inventory, "orders-1").contains("without a segment"));
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
    let inventory = tree.discover(&["data"]);
    assert_eq!(displays(&inventory), ["orders-1"]);
    assert!(note_on(&inventory, "orders-0").contains("not followed"));
    assert!(note_on(&inventory, "orders-1/x.log").contains("symbolic link"));
    let inventory = tree.discover(&["data/orders-0"]);
    assert_eq!(displays(&inventory), ["orders-0"]);
    assert_eq!(inventory.partitions[0].path, tree.at("disk/orders-0"));
}

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
            let mut source = open_segment(&segment.path, mode, segment.len).unwrap();
            assert!(!source.window(0, 61).unwrap().is_empty());
        }
    }
    assert_eq!(state_of(&tree.at("data")), before);
    modes(0o644, 0o755);
}
