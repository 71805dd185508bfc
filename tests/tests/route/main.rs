//! The router.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod command;
mod dynamic;
mod extensions;
mod faults;
mod forward;
mod full_table;
mod icmp;
mod ignored;
mod isolation;
mod memory;
mod nat;
mod neighbours;
mod plain;
mod quote;
mod reverse;
mod stack_nat;
mod stack_nat_limits;
mod tools;
mod truth;
mod unfollowed;
mod vlan;
mod why;
