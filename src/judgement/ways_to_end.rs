//! What to do about a transaction that has no end in a log, by what is known of it.
//!
//! An abort by hand writes a marker into one partition and tells the coordinator nothing. So it is right where nobody
//! else is going to end the transaction, and where it contradicts nothing: not for one that its coordinator still
//! runs, and not for one that was committed, whose records it discards for read_committed consumers.
//!
//! Source: `TransactionsCommand`, `WriteTxnMarkers` (KIP-664); `forceTerminateTransaction` of KIP-939 (KAFKA-19003, 4.1).

use super::transactions::Placed;
use crate::finding::phrase::{moment, offsets};

/// How an open transaction stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was committed.
    Committed,
    /// It was aborted.
    Aborted,
    /// It was ended, and how is not among the files.
    Ended,
    /// It may be a part of what was committed elsewhere.
    Doubtful,
    /// The coordinator has decided, and is to write the marker.
    Decided,
    /// The coordinator runs it under this transactional id.
    Runs {
        id: String,
        /// When it aborts it; nothing where it never does.
        limit: Option<i64>,
        /// Whether that is over.
        overdue: bool,
    },
    /// It may run, or hang.
    Unknown,
}

impl Standing {
    /// That of several: what forbids an abort of one of them forbids it.
    pub(super) fn of_all(each: impl IntoIterator<Item = Self>) -> Self {
        let mut each: Vec<Self> = each.into_iter().collect();
        each.dedup();
        match each.as_slice() {
            [one] => one.clone(),
            several => [Self::Committed, Self::Ended, Self::Doubtful]
                .into_iter()
                .find(|one| several.contains(one))
                .unwrap_or(Self::Unknown),
        }
    }
}

/// At most three lines about the first of the parts that stand so.
pub(super) fn advice(standing: &Standing, ((context, _), span): &Placed<'_>) -> Vec<String> {
    let tool = "kafka-transactions.sh --bootstrap-server …";
    let place = format!("--topic {} --partition {}", shell_word(&context.topic, "TOPIC"), context.partition);
    let producers = format!("{tool} describe-producers {place} (answered by brokers from 2.8 on)");
    let abort = format!("{tool} abort {place} --start-offset {}", span.open_since);
    let elsewhere =
        format!("look whether only these files lack its marker: {producers}, and the other replicas");
    match standing {
        Standing::Committed => {
            let (records, range) = span.last_offset.map_or_else(
                || ("its records".to_owned(), String::new()),
                |last| {
                    let (first, last) = (span.first_offset.0, last.0);
                    (offsets(first, last), format!(" --offsets {first}..{last}"))
                },
            );
            vec![
                "do not abort: it was committed, and an abort takes it back here alone".to_owned(),
                elsewhere,
                format!(
                    "if the leader and all replicas lack it, nobody is going to end it, and readers wait until the owner of the \
                     data decides: an abort ({abort}) discards {records} for read_committed consumers, so they have to be saved \
                     before (dedup-audit dump{range}) and sent again behind it"
                ),
            ]
        }
        Standing::Aborted => vec![
            elsewhere,
            format!("if the leader lacks it as well, end it: {abort}; it was aborted, and an abort agrees with that"),
        ],
        Standing::Ended => vec![
            "do not abort before it is known how it ended: its coordinator has ended it, and an abort may take back what was \
             committed"
                .to_owned(),
            format!("{elsewhere} and partitions of the same transaction"),
        ],
        Standing::Doubtful => vec![
            "do not abort before it is known whether it is a part of what was committed elsewhere".to_owned(),
            format!("{elsewhere}; and whether its coordinator has it: {tool} describe"),
        ],
        Standing::Decided => vec![
            "wait: its coordinator writes the marker when it reaches the partition, and an abort by hand may contradict it"
                .to_owned(),
            format!("look: {producers}"),
        ],
        Standing::Runs { id, limit, overdue } => {
            let first = match limit.map(moment) {
                _ if *overdue => {
                    format!("look: {producers}, and at the broker that leads its part of __transaction_state")
                }
                Some(Some(time)) => {
                    format!("wait: the coordinator aborts it by itself at about {time}, if it runs; look: {producers}")
                }
                Some(None) => format!("look: {producers}"),
                None => {
                    format!("ask the transaction manager whose second phase it waits for, before it is ended; look: {producers}")
                }
            };
            let id = shell_word(id, "ID");
            vec![
                first,
                format!(
                    "to end it earlier, start a producer with transactional.id {id} (initTransactions aborts it), or {tool} \
                     forceTerminateTransaction --transactionalId {id} (4.1 and later)"
                ),
                "an abort of the partition alone (kafka-transactions.sh abort) leaves it open at its coordinator".to_owned(),
            ]
        }
        Standing::Unknown => {
            vec![format!("look: {producers}"), format!("if nobody owns it any more, end it: {abort}")]
        }
    }
}

/// A name where it can be pasted into a shell; directories of a hostile disk may be called anything.
fn shell_word<'w>(word: &'w str, instead: &'static str) -> &'w str {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !word.is_empty() && word.chars().all(legal) { word } else { instead }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_forbids_an_abort_of_one_part_forbids_it_for_all() {
        let of = |each: &[Standing]| Standing::of_all(each.iter().cloned());
        assert_eq!(of(&[Standing::Aborted, Standing::Aborted]), Standing::Aborted);
        assert_eq!(of(&[Standing::Aborted, Standing::Committed]), Standing::Committed);
        assert_eq!(of(&[Standing::Unknown, Standing::Ended]), Standing::Ended);
        assert_eq!(of(&[Standing::Aborted, Standing::Unknown]), Standing::Unknown);
    }

    #[test]
    fn names_that_a_shell_would_read_are_not_pasted() {
        assert_eq!(shell_word("orders.v1_a-b", "TOPIC"), "orders.v1_a-b");
        assert_eq!(shell_word("a; rm -rf /", "TOPIC"), "TOPIC");
        assert_eq!(shell_word("", "ID"), "ID");
    }
}
