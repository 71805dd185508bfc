//! Gives inputs of libFuzzer to the target `fixtures`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("fixtures", bytes));
