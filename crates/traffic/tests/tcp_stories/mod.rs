//! Scenarios of senders in the simulated network.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "a seed is printed for whoever repeats a failure")]

mod acknowledging;
mod clean;
mod congestion;
mod ends;
mod many;
mod network;
mod random;
mod recovery;
mod story;
mod timeout;
mod window;
