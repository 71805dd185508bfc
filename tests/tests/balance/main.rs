//! The balancer.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod announce;
mod backend;
mod backend_lab;
mod bird;
mod changes;
mod command;
mod connections;
mod declared;
mod delivery;
mod health;
mod health_tunnels;
mod interfaces;
mod nat;
mod nat_declared;
mod nat_lab;
mod nat_limits;
mod nat_race;
mod nat_why;
mod quic;
mod services;
mod sync;
mod why;
