//! Tests that need root, clang or a running kernel.
#![forbid(unsafe_code)]
