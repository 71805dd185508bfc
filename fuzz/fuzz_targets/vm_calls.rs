//! Gives inputs of libFuzzer to the target `vm_calls`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("vm_calls", bytes));
