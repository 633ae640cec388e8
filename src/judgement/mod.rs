//! What the facts and the relations mean: mechanisms, episodes, rivals, confidence.
//!
//! Goes in: [`Relations`](crate::relations::Relations) for what is stored more than once. Comes
//! out: findings. This layer sees no bytes and opens no file. A code names the mechanism that the
//! files show; the likely cause behind it is a sentence with a confidence of its own.

pub mod duplicates;
mod identify;

pub use identify::identify;
