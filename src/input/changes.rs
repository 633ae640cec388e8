//! What a broker did to the files while they were read.
//!
//! Goes in: the inventory, after the reading. Comes out: a note for each segment that is no longer
//! what was found. Nothing is concluded from it: no more than the bytes of the listing were read, and
//! never those of another file.

use super::identity::FileIdentity;
use super::inventory::{Inventory, Note, SegmentFile};
use std::fs;
use std::io;

/// Segments that are no longer what they were when they were found.
#[must_use]
pub fn changes(inventory: &Inventory) -> Vec<Note> {
    let mut notes: Vec<Note> = inventory
        .archives
        .iter()
        .filter_map(|archive| Some(Note { file: inventory.shown(archive.path()), detail: archive.change()? }))
        .collect();
    for dir in &inventory.partitions {
        for segment in &dir.segments {
            if let Some(detail) = change(segment) {
                notes.push(Note { file: dir.display_of(&segment.file_name), detail });
            }
        }
    }
    notes
}

fn change(segment: &SegmentFile) -> Option<String> {
    let before = segment.len;
    if segment.place.within().is_some() {
        return None;
    }
    let metadata = match fs::metadata(segment.place.path()) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some("it was removed or renamed while the scan ran".to_owned());
        }
        // Whoever may not look now was told so before.
        Err(_) => return None,
    };
    let now = metadata.len();
    if segment.identity.is_some() && FileIdentity::of(&metadata) != segment.identity {
        return Some("another file took its place while the scan ran, by compaction for example".to_owned());
    }
    if now < before {
        return Some(format!("it became shorter while the scan ran: {now} bytes, it had {before}"));
    }
    (now > before).then(|| format!("it grew while the scan ran: cut at {before} bytes, it has {now}"))
}

#[cfg(test)]
mod tests {
    use super::super::inventory::SegmentRole;
    use super::*;
    use crate::units::Offset;

    #[test]
    fn each_change_is_told_with_its_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("00000000000000000000.log");
        fs::write(&path, b"12345").unwrap();
        let segment = SegmentFile {
            base: Offset(0),
            place: path.clone().into(),
            file_name: "00000000000000000000.log".to_owned(),
            len: 5,
            modified: None,
            identity: FileIdentity::of(&fs::metadata(&path).unwrap()),
            role: SegmentRole::Active,
        };
        assert_eq!(change(&segment), None);
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut f| io::Write::write_all(&mut f, b"6"))
            .unwrap();
        assert!(change(&segment).unwrap().contains("cut at 5 bytes, it has 6"));
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(2).unwrap();
        assert!(change(&segment).unwrap().contains("2 bytes, it had 5"));
        fs::rename(&path, folder.path().join("other")).unwrap();
        assert!(change(&segment).unwrap().contains("removed or renamed"));
        fs::write(&path, b"12345").unwrap();
        assert!(!cfg!(unix) || change(&segment).unwrap().contains("another file"));
    }
}
