//! Programs composed with each other, and chains of them on interfaces.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod apply;
mod compose;
mod confirm;
mod dispatcher;
mod members;
mod random;
mod splice;
mod trial;
