//! Loaded filters: state that is read and written through [`spec::Map`].
//!
//! Rule: nothing here loads a program or finds a map; callers bring maps, and the time of the
//! monotonic clock. What is read is a moment's state, because packets continue meanwhile.

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
