//! Gives inputs of libFuzzer to the target `rules`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("rules", bytes));
