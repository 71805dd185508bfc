//! Names the shared library for the linker of programs: `libxway_xsk.so.0`. The number changes when
//! a program that was built before can no longer run with it.
#![allow(clippy::print_stdout, reason = "build scripts talk to cargo so")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libxway_xsk.so.0");
}
