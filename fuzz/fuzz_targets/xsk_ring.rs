//! Gives inputs of libFuzzer to the target `xsk_ring`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("xsk_ring", bytes));
