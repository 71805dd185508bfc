//! Gives inputs of libFuzzer to the target `raw_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("raw_json", bytes));
