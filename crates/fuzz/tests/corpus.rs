//! Each committed input of each target, and what ties targets, programs and folders together.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use targets::{TARGETS, Target};

const RING: &str = "xsk_ring";

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = fuzz().join("corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Names of files and folders of a folder, without endings.
fn stems(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(folder)).unwrap();
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    entries.map(|entry| stem(entry.unwrap().path())).collect()
}

#[test]
fn every_input_is_handled() {
    let mut failed = Vec::new();
    for Target { name, run } in TARGETS {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for path in inputs {
            let bytes = fs::read(&path).unwrap();
            if catch_unwind(|| run(&bytes)).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "inputs that break a promise: {failed:#?}");
}

#[test]
fn targets_have_a_program_and_a_corpus() {
    let mut names: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    names.insert(RING.to_owned());
    assert_eq!(stems("fuzz_targets"), names);
    assert_eq!(stems("corpus"), names);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for name in &names {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in Cargo.toml");
    }
}
