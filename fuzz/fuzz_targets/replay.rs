//! Gives inputs of libFuzzer to the target `replay`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("replay", bytes));
