//! Gives inputs of libFuzzer to the target `spec_parse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("spec_parse", bytes));
