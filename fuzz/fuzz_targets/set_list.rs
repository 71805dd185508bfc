//! Gives inputs of libFuzzer to the target `set_list`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("set_list", bytes));
