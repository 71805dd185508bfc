//! A network with one TCP sender and an independent, strict receiver, on a virtual clock.
//!
//! ```text
//!  Sender ──► Auditor ──► Link ──► Peer (a Connection for each flow)
//!         ◄── Auditor ◄── Link ◄──
//! ```
//! Rule: this code does not access the program under test, which is judged only by the frames that
//! it sends. Runs with equal arguments are equal. Not here: scenarios.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

pub mod auditor;
pub mod connection;
pub mod engine;
pub mod fate;
pub mod link;
pub mod log;
pub mod model;
pub mod options;
pub mod peer;
pub mod random;
pub mod ranges;
pub mod segment;
pub mod simulation;
pub mod timetable;
pub mod tiny;

/// Nanoseconds of the virtual clock.
pub type Time = u64;

pub const US: Time = 1_000;
pub const MS: Time = 1_000_000;
pub const SECOND: Time = 1_000_000_000;
