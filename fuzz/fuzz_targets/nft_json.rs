//! Gives inputs of libFuzzer to the target `nft_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("nft_json", bytes));
