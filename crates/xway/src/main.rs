//! `xway`: puts the pieces together; alone chooses a runtime, prints and exits.
#![forbid(unsafe_code)]

fn main() {}
