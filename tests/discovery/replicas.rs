//! Which partitions are copies of each other.

use crate::tree::{ID, OTHER_ID, Tree, note_on};
use dedup_audit::input::{Leftovers, ReplicaBasis};

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
        (["broker.id=1", "broker.id=1"], [None; 2], Some(ReplicaBasis::NameOnly)),
        (["", ""], [None; 2], Some(ReplicaBasis::NameOnly)),
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
