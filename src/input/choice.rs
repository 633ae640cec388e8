//! Which of the partitions that were found are audited: by topic, by number, by name.
//!
//! Goes in: patterns as people write them for a shell. Comes out: a question that each partition
//! answers. What is left out is only left out of the audit; what the broker's own topics say of the
//! rest is read all the same.

use super::inventory::{Inventory, Note, PartitionDir, ReplicaGroup};
use glob::Pattern;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Which partitions are audited; nothing in a list means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionChoice {
    /// Names of topics.
    pub topics: Vec<NamePattern>,
    /// Partitions by number or by `topic-partition`.
    pub partitions: Vec<PartitionPattern>,
}

/// A pattern for a name: `*`, `?`, `[a-z]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(Pattern);

/// Numbers of partitions, or a pattern for `topic-partition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionPattern {
    /// From the first to the last number, both included.
    Numbers(i32, i32),
    /// As the directories of partitions are called.
    Name(NamePattern),
}

impl FromStr for NamePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err("an empty pattern matches no name".to_owned());
        }
        // Several stars are one: names have no parts as paths have.
        let mut pattern = String::with_capacity(text.len());
        for c in text.chars().filter(|c| *c != '\0') {
            if c != '*' || !pattern.ends_with('*') {
                pattern.push(c);
            }
        }
        let bad = |error: glob::PatternError| {
            format!("{} at character {}; known are *, ? and [a-z]", error.msg, error.pos + 1)
        };
        Pattern::new(&pattern).map(Self).map_err(bad)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl fmt::Display for PartitionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(first, last) if first == last => write!(f, "{first}"),
            Self::Numbers(first, last) => write!(f, "{first}..{last}"),
            Self::Name(pattern) => pattern.fmt(f),
        }
    }
}

impl NamePattern {
    fn matches(&self, name: &str) -> bool {
        self.0.matches(name)
    }
}

impl FromStr for PartitionPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(number) = text.parse::<i32>() {
            return Ok(Self::Numbers(number, number));
        }
        if let Some((first, last)) = text.split_once("..")
            && let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>())
        {
            if first > last {
                return Err(format!("{first} is larger than {last}"));
            }
            return Ok(Self::Numbers(first, last));
        }
        text.parse().map(Self::Name)
    }
}

impl PartitionChoice {
    /// Whether nothing is left out.
    #[must_use]
    pub const fn is_all(&self) -> bool {
        self.topics.is_empty() && self.partitions.is_empty()
    }

    /// Whether a partition of this topic is audited.
    #[must_use]
    pub fn chooses(&self, topic: &str, number: i32) -> bool {
        let name = || format!("{topic}-{number}");
        let in_topic = self.topics.is_empty() || self.topics.iter().any(|pattern| pattern.matches(topic));
        let partition = self.partitions.is_empty()
            || self.partitions.iter().any(|pattern| match pattern {
                PartitionPattern::Numbers(first, last) => (*first..=*last).contains(&number),
                PartitionPattern::Name(pattern) => pattern.matches(&name()),
            });
        in_topic && partition
    }
}

impl Inventory {
    /// Keeps the partitions that were chosen, and says how many were not; what there is to choose
    /// from when none was.
    ///
    /// # Errors
    /// A sentence that names the topics that are there.
    pub fn choose(&mut self, choice: &PartitionChoice) -> Result<(), String> {
        self.choose_where(|dir| choice.chooses(&dir.topic, dir.partition))
    }

    /// As [`Inventory::choose`], by any question.
    ///
    /// # Errors
    /// A sentence that names the topics that are there.
    pub fn choose_where(&mut self, chooses: impl Fn(&PartitionDir) -> bool) -> Result<(), String> {
        let kept: Vec<bool> = self.partitions.iter().map(chooses).collect();
        if kept.iter().all(|kept| *kept) {
            return Ok(());
        }
        let left_out = kept.iter().filter(|kept| !**kept).count();
        if left_out == kept.len() {
            return Err(self.nothing_chosen());
        }
        let mut next = 0_usize;
        let moved: Vec<Option<usize>> = kept
            .iter()
            .map(|kept| {
                let at = kept.then_some(next);
                next += usize::from(*kept);
                at
            })
            .collect();
        let mut all = std::mem::take(&mut self.partitions).into_iter().zip(&kept);
        self.partitions = all.by_ref().filter_map(|(dir, kept)| kept.then_some(dir)).collect();
        let groups = std::mem::take(&mut self.replica_groups).into_iter();
        self.replica_groups = groups
            .map(|group| ReplicaGroup {
                members: group.members.iter().filter_map(|&at| moved.get(at).copied().flatten()).collect(),
                basis: group.basis,
            })
            .filter(|group| !group.members.is_empty())
            .collect();
        for (at, group) in self.replica_groups.iter().enumerate() {
            for &member in &group.members {
                if let Some(dir) = self.partitions.get_mut(member) {
                    dir.replica_group = at;
                }
            }
        }
        if left_out > 0 {
            let (what, verb) = if left_out == 1 { ("partition", "was") } else { ("partitions", "were") };
            self.notes.push(Note {
                file: String::new(),
                detail: format!("{left_out} {what} {verb} not chosen (--topic, --partition) and not audited"),
            });
        }
        Ok(())
    }

    fn nothing_chosen(&self) -> String {
        let topics: BTreeSet<&str> = self.partitions.iter().map(|dir| dir.topic.as_str()).collect();
        let topics: Vec<&str> = topics.into_iter().collect();
        let named = super::listing::some_names(topics.into_iter());
        format!("--topic and --partition choose nothing of what is there; the topics are {named}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> NamePattern {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_matched_as_a_shell_does() {
        assert!(pattern("orders*").matches("orders.eu"));
        assert!(pattern("*").matches("a.b_c-d"));
        assert!(pattern("**s").matches("orders"));
        assert!(pattern("order?").matches("orders") && !pattern("order?").matches("order"));
        assert!(pattern("[op]*").matches("payments") && !pattern("[op]*").matches("refunds"));
        assert!(!pattern("orders").matches("orders.eu"));
        assert!("".parse::<NamePattern>().is_err());
        assert!("[a".parse::<NamePattern>().unwrap_err().contains("known are"));
    }

    #[test]
    fn partitions_are_numbers_or_names() {
        assert_eq!("3".parse(), Ok(PartitionPattern::Numbers(3, 3)));
        assert_eq!("0..5".parse(), Ok(PartitionPattern::Numbers(0, 5)));
        assert_eq!("orders-1*".parse(), Ok(PartitionPattern::Name(pattern("orders-1*"))));
        assert!("5..0".parse::<PartitionPattern>().is_err());
    }
}
