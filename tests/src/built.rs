//! What cargo built: it lies beside the folder of the test programs.
//!
//! Rule: programs of this package are built with its tests, all others before (`make root-tests`).

use std::path::PathBuf;

/// A program, and the package that it is of.
pub fn program(name: &str, package: &str) -> PathBuf {
    let program = folder().join(name);
    assert!(program.exists(), "{} is missing: cargo build -p {package}", program.display());
    program
}

/// Where programs and libraries are.
pub fn folder() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().unwrap();
    // Cargo puts test programs one folder deeper than the others.
    if folder.ends_with("deps") { folder.parent().unwrap().to_owned() } else { folder.to_owned() }
}
