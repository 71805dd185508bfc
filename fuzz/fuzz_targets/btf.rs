//! Gives inputs of libFuzzer to the target `btf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("btf", bytes));
