//! Gives inputs of libFuzzer to the target `pcap_read`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("pcap_read", bytes));
