//! Gives inputs of libFuzzer to the target `streams`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("streams", bytes));
