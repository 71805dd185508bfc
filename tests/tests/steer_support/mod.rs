//! What the tests of steering share.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

pub mod model;
pub mod net;
