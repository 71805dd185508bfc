//! Hostile frames and peers.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod drop;
mod filter;
mod frames;
mod nat;
mod redirect;
mod sink;
mod tcp;
