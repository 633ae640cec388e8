//! Elements in the order of a key, of which one is found with few others read: the memory holds the places
//! of some, fewer of each thousand the more there are.

use super::{Element, Reading, Share, Shelf, ShelfWriter};
use crate::error::AuditError;

/// Places that the memory holds.
const MARKS: usize = 1 << 14;

/// Takes elements in the order of their keys.
#[derive(Debug)]
pub struct CatalogWriter<K, V> {
    shelf: ShelfWriter<(K, V)>,
    marks: Vec<(K, u64)>,
    count: usize,
    /// Elements from one mark to the next.
    every: usize,
}

impl<K: Element + Ord + Clone, V: Element + Clone> CatalogWriter<K, V> {
    /// None yet; no more of them are held than the share allows.
    #[must_use]
    pub fn new(share: &Share) -> Self {
        Self { shelf: share.shelf(), marks: Vec::new(), count: 0, every: 1 }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an element whose key is above those of all others.
    ///
    /// # Errors
    /// [`AuditError`] when it does not fit into memory and cannot be written.
    pub fn put(&mut self, key: K, value: V) -> Result<(), AuditError> {
        if self.count.is_multiple_of(self.every) {
            if self.marks.len() == MARKS {
                let mut at = 0_usize;
                self.marks.retain(|_| {
                    at += 1;
                    !at.is_multiple_of(2)
                });
                self.every *= 2;
            }
            if self.count.is_multiple_of(self.every) {
                self.marks.push((key.clone(), self.shelf.end()));
            }
        }
        self.count += 1;
        self.shelf.put(&(key, value))
    }

    /// The elements, to be read.
    ///
    /// # Errors
    /// [`AuditError`] when they cannot be written.
    pub fn finish(self) -> Result<Catalog<K, V>, AuditError> {
        let Self { shelf, mut marks, count, .. } = self;
        marks.shrink_to_fit();
        Ok(Catalog { shelf: shelf.finish()?, marks, count })
    }
}

/// Elements in the order of their keys.
#[derive(Debug)]
pub struct Catalog<K, V> {
    shelf: Shelf<(K, V)>,
    marks: Vec<(K, u64)>,
    count: usize,
}

impl<K: Element + Ord + Clone, V: Element + Clone> Default for Catalog<K, V> {
    /// Of nothing.
    fn default() -> Self {
        Self { shelf: Shelf::default(), marks: Vec::new(), count: 0 }
    }
}

impl<K: Element + Ord + Clone, V: Element + Clone> Catalog<K, V> {
    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> Reading<(K, V)> {
        self.shelf.all()
    }

    /// The element of a key.
    ///
    /// # Errors
    /// [`AuditError`] when a temporary file cannot be read.
    pub fn find(&self, key: &K) -> Result<Option<V>, AuditError> {
        let behind = self.marks.partition_point(|(mark, _)| mark <= key);
        let Some(&(_, start)) = behind.checked_sub(1).and_then(|at| self.marks.get(at)) else {
            return Ok(None);
        };
        for element in self.shelf.few_from(start) {
            let (found, value) = element?;
            if found >= *key {
                return Ok((found == *key).then_some(value));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_found_and_nothing_else_however_many_there_are() {
        for (count, limit) in [(0, 0), (1, 0), (1000, 1 << 20), (70_001, 1 << 10)] {
            let mut writer = CatalogWriter::new(&Share { limit, ..Share::default() });
            for number in 0..count {
                writer.put([2 * number], [-number, 7]).unwrap();
            }
            let catalog = writer.finish().unwrap();
            assert!(catalog.marks.len() <= MARKS);
            for number in (0..count).step_by(97).chain(count.checked_sub(1).filter(|last| *last >= 0)) {
                assert_eq!(catalog.find(&[2 * number]).unwrap(), Some([-number, 7]));
                assert_eq!(catalog.find(&[2 * number + 1]).unwrap(), None);
            }
            assert_eq!(catalog.find(&[-1]).unwrap(), None);
            assert_eq!(i64::try_from(catalog.all().count()).unwrap(), count);
        }
    }
}
