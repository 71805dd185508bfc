//! The balancer.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod changes;
mod command;
mod delivery;
mod nat;
mod nat_lab;
mod services;
