//! Tests that need root, clang or a running kernel; here is what they share.
//!
//! Rule: a module is public as far as tests use it. A folder beside a test is that test's alone.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

pub mod background;
pub mod balance_lab;
pub mod bpf;
pub mod built;
pub mod capture;
pub mod cell;
pub mod clang;
pub mod declarations;
pub mod differential;
pub mod expr;
pub mod faults;
pub mod filter;
pub mod flood;
pub mod generator;
pub mod hostile;
pub mod hostile_tcp;
pub mod nft;
pub mod program;
pub mod random;
pub mod route_lab;
pub mod route_truth;
pub mod routing;
pub mod segment;
pub mod sink;
pub mod stage;
pub mod steer;
pub mod steered;
pub mod tags;
pub mod terminal;
pub mod vm_io;
pub mod vm_net;
pub mod words;
pub mod xsk;
pub mod xway;
