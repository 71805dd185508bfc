//! Network functions: the pure Rust half of the programs in `bpf/`.
#![forbid(unsafe_code)]
