//! Any bytes as what a program and a kernel, behaving or hostile, do with each other over AF_XDP
//! rings: no panic, no frame twice, none lost.
//!
//! `cargo +nightly fuzz run xsk_ring`
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| xsk::fake::campaign(bytes));
