//! Gives inputs of libFuzzer to the target `nft_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("nft_text", bytes));
