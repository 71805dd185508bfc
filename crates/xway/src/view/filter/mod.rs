//! What `filter` shows, one file an action.

pub mod bans;
pub mod check;
pub mod detect;
pub mod explain;
pub mod import;
pub mod limits;
pub mod load;
pub mod memory;
pub mod sample;
pub mod show;
pub mod talkers;
pub mod top;
pub mod trial;
