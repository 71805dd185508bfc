//! Gives inputs of libFuzzer to the target `verifier_log`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("verifier_log", bytes));
