//! Gives inputs of libFuzzer to the target `flowspec`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("flowspec", bytes));
