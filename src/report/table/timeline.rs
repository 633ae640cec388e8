//! What happened, in the order of time: one line an event.

use super::{escaped, named};
use crate::finding::Event;
use crate::report::layout::{Page, Width};
use crate::report::wording::{Zone, counted};
use std::io::{self, Write};

/// Writes the events.
pub fn write(
    events: &[Event],
    omitted: u64,
    zone: &Zone,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(width).in_zone(zone.clone());
    show(&mut page, events, omitted);
    page.write(out)
}

/// The events below a headline; a new day is said where it begins.
pub(super) fn show(page: &mut Page, events: &[Event], omitted: u64) {
    let zone = page.zone().clone();
    page.paragraph(0, &format!("Timeline ({}; inside a partition in the order of offsets)", zone.name()));
    let mut known: Option<String> = None;
    for event in events {
        let when = zone.time(event.timestamp, known.as_deref());
        known = event.timestamp.and_then(|time| zone.day(time)).or(known);
        let place = format!("{}-{}@{}", named(&event.topic), event.partition, event.offset);
        page.hanging(
            2,
            &format!("{when:<12}  "),
            &format!("{place}  {}: {}", event.kind, escaped(&event.detail)),
        );
    }
    if events.is_empty() {
        page.paragraph(2, "nothing");
    }
    if omitted > 0 {
        page.paragraph(2, &format!("… and {} that tell less", counted(omitted, "event")));
    }
}
