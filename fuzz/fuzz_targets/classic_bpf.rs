//! Gives inputs of libFuzzer to the target `classic_bpf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("classic_bpf", bytes));
