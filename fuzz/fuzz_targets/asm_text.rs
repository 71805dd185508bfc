//! Gives inputs of libFuzzer to the target `asm_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("asm_text", bytes));
