//! The adviser: which field of a topic's records identifies the event?
//!
//! Goes in: records of one topic in the order of their places, a sample or all of them
//! ([`Observer`]). Comes out: every field with what it would find and a reason ([`Candidate`]).
//!
//! A field that repeats is not yet an event's identity: customers repeat, too. Two records of one
//! event agree in what describes it (amount, customer, time of the event), or one stands soon behind
//! the other, or a whole stretch of them came again in its old order; two events of one customer do
//! none of it. So a field is suggested only
//!
//! * when nearly all records have it and most of its values stand once,
//! * when it is no time, no constant, and does repeat (what never repeats may be a nonce as well), and
//! * when its repeats agree in every other field that tells records apart, or come in stretches or at
//!   once, while no other field that tells records apart contradicts.
//!
//! Values are told apart by a hash that does not depend on the run, so that the advice depends on the
//! files alone. Where a field has more values than memory allows, only those with the smallest hashes
//! are followed, and these through the whole topic: repeats are seen however far apart they are.

mod field;
mod observer;
mod verdict;

pub use observer::Observer;
pub use verdict::{Candidate, Counts};
