//! What discovery makes of log directories that real brokers left behind; each set's README says how.

use dedup_audit::input::{DiscoverOptions, Inventory, Leftovers, State, discover};
use dedup_audit::units::LogStartSource;
use std::path::{Path, PathBuf};

fn set(name: &str, leftovers: Leftovers) -> Inventory {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers").join(name);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_dir() && path.file_name().unwrap().to_string_lossy().starts_with("data"));
    let inventory = discover(&paths, &DiscoverOptions { leftovers, ..DiscoverOptions::default() }).unwrap();
    assert!(inventory.damage.is_empty(), "{:?}", inventory.damage);
    inventory
}

#[test]
fn one_broker_with_two_disks_has_each_partition_once() {
    let inventory = set("4.3.1/multi-logdir", Leftovers::SetAside);
    assert_eq!(inventory.log_dirs.len(), 2);
    assert!(inventory.log_dirs.iter().all(|dir| dir.clean_shutdown == Some(true)));
    let orders: Vec<_> = inventory.partitions.iter().filter(|p| p.topic == "orders").collect();
    assert_eq!(orders.iter().map(|p| p.partition).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    assert!(inventory.replica_groups.iter().all(|group| group.members.len() == 1));
    assert!(orders.iter().all(|p| p.high_watermark.is_some()));
}

#[test]
fn three_brokers_hold_three_replicas_of_each_partition() {
    for name in ["4.3.1/three-brokers-rejoined", "4.3.1/three-brokers-diverged"] {
        let inventory = set(name, Leftovers::SetAside);
        for partition in [0, 1] {
            let replicas: Vec<_> = inventory
                .partitions
                .iter()
                .filter(|p| p.topic == "orders" && p.partition == partition)
                .collect();
            let brokers: Vec<_> = replicas.iter().map(|p| p.broker_id).collect();
            assert_eq!(brokers, [Some(1), Some(2), Some(3)], "{name}");
            assert!(replicas.iter().all(|p| p.replica_group == replicas[0].replica_group), "{name}");
        }
    }
}

#[test]
fn a_recreated_topic_is_another_one_and_a_moving_replica_is_not_read_twice() {
    let inventory = set("4.3.1/topic-recreated", Leftovers::SetAside);
    let names: Vec<_> = inventory.partitions.iter().map(|p| p.topic.as_str()).collect();
    assert_eq!(names, ["inventory", "orders"]);
    assert_eq!(inventory.notes.len(), 4);
    let all = set("4.3.1/topic-recreated", Leftovers::List);
    let states: Vec<_> = all.partitions.iter().map(|p| (p.topic.as_str(), p.state)).collect();
    let count = |state| states.iter().filter(|(_, found)| *found == state).count();
    assert_eq!(
        (count(State::Live), count(State::Deleted), count(State::Future), count(State::Stray)),
        (2, 2, 1, 1)
    );
    let orders: Vec<_> = all.partitions.iter().filter(|p| p.topic == "orders").collect();
    assert_ne!(orders[0].topic_id, orders[1].topic_id);
    assert_eq!(all.replica_groups.len(), 6);
}

#[test]
fn an_interrupted_compaction_is_finished_or_undone_as_the_broker_would() {
    let inventory = set("4.3.1/swap-leftovers", Leftovers::SetAside);
    let bases: Vec<Vec<_>> =
        inventory.partitions.iter().map(|p| p.segments.iter().map(|s| s.base.0).collect()).collect();
    assert_eq!(bases, [vec![0, 36], vec![0, 12, 24, 36], vec![0, 36]]);
    assert_eq!(inventory.partitions[0].segments[0].file_name, "00000000000000000000.log.swap");
    assert!(inventory.partitions.iter().all(|p| p.first_dirty_offset.is_some_and(|o| o.0 == 36)));
    assert!(inventory.log_dirs[0].clean_shutdown == Some(false));
}

#[test]
fn the_log_start_comes_from_what_knows_it_best() {
    let start = |inventory: &Inventory, topic: &str| {
        let partition = inventory.partitions.iter().find(|p| p.topic == topic).unwrap();
        (partition.log_start_offset.0, partition.log_start_source)
    };
    let inventory = set("4.3.1/retention-head", Leftovers::SetAside);
    assert_eq!(start(&inventory, "payments"), (14, LogStartSource::Checkpoint));
    assert_eq!(start(&inventory, "shipments"), (24, LogStartSource::FirstSegment));
    // Its first leader epoch begins at 40, where format 2 does; nothing was deleted.
    let inventory = set("2.3.1/format-mixed", Leftovers::SetAside);
    assert_eq!(start(&inventory, "upgraded-none"), (0, LogStartSource::FirstSegment));
}
