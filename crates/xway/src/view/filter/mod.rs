//! What `filter` shows, one file an action.

pub mod check;
