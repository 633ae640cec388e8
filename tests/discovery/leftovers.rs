//! What no broker would serve: deleted, future and stray directories, and interrupted compactions.

use crate::tree::{ID, OTHER_ID, Tree, bases, displays, note_on, numbers};
use dedup_audit::input::{DiscoverOptions, Leftovers, Selection, State, discover};
use dedup_audit::testkit::{SegmentBuilder, batch};
use std::fs;

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
            ("orders", 1, State::Future),
            // Another topic of that name, by its id.
            ("orders", 0, State::Deleted)
        ]
    );
    assert!(all.replica_groups.iter().all(|group| group.members.len() == 1));
    // Checkpoints go by name and speak of the live replica, or of the copy that is being built.
    let marks: Vec<_> = all.partitions.iter().map(|p| p.high_watermark.map(|offset| offset.0)).collect();
    assert_eq!(marks, [None, Some(14), Some(15), None]);
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
    assert!(note_on(&inventory, "orders-0").contains("renamed to .deleted"));
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
