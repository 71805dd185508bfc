//! Commands as a user types them, in namespaces of the lab.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod apply;
mod attach;
mod bench;
mod check;
mod demo;
mod doctor;
mod drop;
mod faults;
mod forward;
mod generator;
mod lab;
mod map;
mod map_set;
mod prog;
mod run;
mod sink;
mod state;
mod status;
mod sudo;
mod top;
mod xsk;
