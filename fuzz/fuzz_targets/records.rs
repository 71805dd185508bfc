//! Gives inputs of libFuzzer to the target `records`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("records", bytes));
