//! Network functions: the pure Rust half of the programs in `bpf/`.
//!
//! A function is a folder: `config` (what the user asks for), `plan` (the map entries and globals
//! for it), `abi` (the layouts shared with C, generated). Rule: a function knows maps only
//! through [`spec::Map`] and never a runtime, so the same plan serves every runtime and runs in
//! tests without any. Changing live maps goes: add what is new, switch, remove what is old; a
//! failed change is taken back.
//! Not here: loading and attaching, and which interface a program runs on.
#![forbid(unsafe_code)]

pub mod backend;
pub mod balancer;
pub mod capture;
pub mod drop;
pub mod losses;
mod pass_or_drop;
pub mod route;
pub mod stats;
pub mod table;
pub mod tags;

pub use pass_or_drop::PassOrDrop;
