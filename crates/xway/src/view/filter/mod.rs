//! Text of `filter`, one file for each action.

pub mod bans;
pub mod check;
pub mod detect;
pub mod explain;
pub mod import;
pub mod limits;
pub mod load;
pub mod sample;
pub mod show;
pub mod top;
mod top_senders;
pub mod trial;
