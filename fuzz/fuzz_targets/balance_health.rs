//! Gives inputs of libFuzzer to the target `balance_health`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("balance_health", bytes));
