//! The state of loaded filters, which is read and written through [`spec::Map`].
//!
//! Rule: nothing here loads a program or finds a map; callers provide maps, and the time of the
//! monotonic clock. State that is read may be inconsistent, because packets are processed
//! meanwhile.

pub mod actions;
pub mod bans;
pub mod carried_counts;
pub mod decision;
pub mod detect;
pub mod limits;
pub mod parts;
pub mod samples;
pub mod talkers;
pub mod tap;
pub mod trial;
