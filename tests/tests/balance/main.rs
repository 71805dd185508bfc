//! The balancer.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod backend;
mod backend_lab;
mod changes;
mod command;
mod connections;
mod declared;
mod delivery;
mod health;
mod health_tunnels;
mod interfaces;
mod nat;
mod nat_lab;
mod quic;
mod services;
mod sync;
mod why;
