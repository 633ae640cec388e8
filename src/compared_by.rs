//! Types of which one part decides how they compare.

/// Lets a type be equal and ordered by one part of it, and by nothing else: `compared_by!(Place, |one| &one.path)`.
macro_rules! compared_by {
    ($type:ty, |$one:ident| $part:expr) => {
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other) == std::cmp::Ordering::Equal
            }
        }

        impl Eq for $type {}

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                let own = {
                    let $one = self;
                    $part
                };
                let others = {
                    let $one = other;
                    $part
                };
                own.cmp(&others)
            }
        }
    };
}
