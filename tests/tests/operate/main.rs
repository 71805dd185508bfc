//! What an operator does: confirming, the daemon, privileges, lockouts, and the examples.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod confirm;
mod daemon;
mod examples;
mod lockout;
mod page;
mod privileges;
mod readers;
mod replace_under_flood;
