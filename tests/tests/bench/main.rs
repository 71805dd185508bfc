//! Benches: what they print and keep, and that they measure what they claim.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod balancer;
mod cpu;
mod ddos;
mod drop;
mod forward;
mod latency;
mod nic;
mod page;
mod router;
mod scale;
