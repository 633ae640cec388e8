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
//!   once, while no other field contradicts that tells records apart, or a record from its writer's record before,
//!   as a page or a status does, and a host does not; and
//! * when its values do not come again here and there, some several times, as customers do.
//!
//! Where no single field is suggested, two may be: what several events share, an order, and what tells them apart, a
//! state that hardly ever comes twice of one order. Which pairs are looked at is decided on a sample.
//!
//! Values are told apart by a hash that does not depend on the run, so that the advice depends on the
//! files alone. Where a field has more values than memory allows, only those with the smallest hashes
//! are followed, and these through the whole topic: repeats are seen however far apart they are.

mod field;
mod observer;
mod verdict;

pub use observer::Observer;
pub use verdict::{Candidate, Counts};
