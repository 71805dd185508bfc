//! The lab: its interfaces, topologies and lifetime.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod interfaces;
mod lifetime;
mod topologies;
mod xdp;
