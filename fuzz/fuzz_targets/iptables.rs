//! Gives inputs of libFuzzer to the target `iptables`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("iptables", bytes));
