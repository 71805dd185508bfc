//! Gives inputs of libFuzzer to the target `filter_read`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("filter_read", bytes));
