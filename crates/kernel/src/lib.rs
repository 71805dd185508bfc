//! The Linux runtime: brings a `Spec` to life through `bpf(2)`.
#![forbid(unsafe_code)]
