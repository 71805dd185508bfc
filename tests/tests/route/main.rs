//! The router.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod forward;
mod icmp;
mod isolation;
mod memory;
mod reverse;
mod truth;
