//! Objects, maps and programs on the kernel, beside the engine and libbpf.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod drop;
mod libbpf;
mod links;
mod load;
mod maps;
mod old_objects;
mod parse;
mod redirect;
mod run;
mod system;
mod verifier;
