//! Objects as clang writes them, read as a whole: one table or story for each committed object.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod calls;
mod core;
mod externs;
mod globals;
mod maps;
mod old;
mod refused;
mod types;

use spec::Spec;

/// A committed test object.
fn bytes(name: &str) -> Vec<u8> {
    let path = format!("{}/../../bpf/prebuilt/test/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn object(name: &str) -> Spec {
    Spec::parse(name, &bytes(name)).unwrap()
}

/// The object as its compiler would have written it without `-g`.
fn without_types(name: &str) -> Vec<u8> {
    let mut bytes = bytes(name);
    for at in 0..bytes.len() - 5 {
        if bytes[at..].starts_with(b".BTF") {
            bytes[at + 1] = b'X';
        }
    }
    bytes
}
