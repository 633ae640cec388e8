//! From the paths that a user names to an inventory of what is to be read, and the reading itself.
//!
//! Goes in: paths. Comes out: an [`Inventory`], and for each of its segments a
//! [`SegmentSource`] that the `format` layer walks over. Nothing is judged here: files are found,
//! told apart by Kafka's own rules of naming, and opened read-only.
//!
//! Promises: nothing is written, created, renamed or locked in what is audited; an entry that
//! cannot be read becomes a note, never the end of the run; the result depends on what the
//! directories hold, not on the order in which the system lists them or the user names them.

mod archive;
mod changes;
mod choice;
mod clusters;
mod discover;
mod files;
mod identity;
mod inventory;
mod leftovers;
mod listing;
mod log_dir;
mod misnamed;
mod names;
mod pace;
mod partition;
mod place;
mod remarks;
mod replicas;
#[cfg(target_os = "linux")]
mod residency;
mod source;
mod walk;
mod window;

pub use archive::Archives;
#[cfg(any(test, feature = "testkit"))]
pub use archive::files_of as files_of_archive;
pub use changes::changes;
pub use choice::{NamePattern, PartitionChoice, PartitionPattern};
pub use discover::{DiscoverOptions, Leftovers, discover, is_packed_archive};
pub use identity::FileIdentity;
pub use inventory::{
    Cluster, FileDamage, Inventory, LeaderEpochStart, LogDir, LogDirScope, NameSource, Note, PartitionDir,
    ReplicaBasis, ReplicaGroup, SegmentFile, SegmentRole, Selection, SideFile, State, TopicIdentity,
};
pub(crate) use misnamed::offsets_against_name;
pub use pace::Pace;
pub use place::FilePlace;
pub use source::{ReadMode, SegmentSource, open_same, open_segment};
use walk::holds_records as names_records;
pub use window::FileWindow;
