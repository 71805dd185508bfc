//! Which crate may build on which: strictly downwards.
//!
//! Rule: a crate depends on crates of lower levels alone, so that what touches the system, what
//! knows objects, what runs them and what talks to people stay apart. Dependencies of tests are
//! free. The levels are those of ARCHITECTURE.md.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Finding;
use crate::root;

/// Packages by name, with their levels.
const LEVELS: &[(&str, u8)] = &[
    ("xway-packet", 0),
    ("xway-report", 0),
    ("xway-pcap", 0),
    ("xway-sys", 1),
    ("xway-spec", 1),
    ("xway-kernel", 2),
    ("xway-vm", 2),
    ("xway-xsk", 3),
    ("xway-lab", 3),
    ("xway-functions", 3),
    ("xway-traffic", 3),
    ("xway-filter", 4),
    ("xway-xsk-c", 4),
    ("xway-control", 5),
    ("xway-bench", 5),
    ("xway", 6),
    ("xway-examples", 6),
    ("xway-fuzz-targets", 6),
    ("xway-tests", 6),
    ("xtask", 6),
];

/// Packages that may build on these of ours alone, whatever their level.
const ONLY: &[(&str, &[&str])] = &[
    ("xway-packet", &[]),
    ("xway-sys", &["xway-packet"]),
    ("xway-spec", &["xway-packet"]),
    ("xway-functions", &["xway-packet", "xway-spec"]),
    ("xway-filter", &["xway-packet", "xway-spec", "xway-functions"]),
    ("xway-report", &[]),
];

pub fn check(findings: &mut Vec<Finding>) -> Result<()> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root::path())
        .output()
        .context("cargo metadata")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata: {error}");
    let edges = edges(&serde_json::from_slice(&output.stdout)?);
    findings.extend(broken(&edges).into_iter().map(|message| Finding {
        rule: "layer",
        path: "Cargo.toml".to_owned(),
        line: 1,
        measure: 1,
        message,
    }));
    Ok(())
}

/// Each package with those of ours that it is built from.
fn edges(metadata: &Value) -> Vec<(String, Vec<String>)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let built = |package: &Value| {
        let dependencies = list(&package["dependencies"]);
        // `kind` is null for what is linked in; a path makes it one of ours.
        let ours = dependencies
            .iter()
            .filter(|dependency| dependency["kind"] != "dev" && dependency["path"].is_string());
        ours.map(name).collect()
    };
    packages.iter().map(|package| (name(package), built(package))).collect()
}

fn broken(edges: &[(String, Vec<String>)]) -> Vec<String> {
    let level =
        |name: &str| LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level);
    let mut wrong = Vec::new();
    for (package, dependencies) in edges {
        let Some(own) = level(package) else {
            wrong.push(format!("`{package}` has no level: add it in xtask/src/tidy/layers.rs"));
            continue;
        };
        let only = ONLY.iter().find(|(known, _)| known == package).map(|(_, only)| *only);
        for dependency in dependencies {
            let lower = level(dependency).is_some_and(|level| level < own);
            let allowed = only.is_none_or(|only| only.contains(&dependency.as_str()));
            if !lower || !allowed {
                wrong.push(format!("`{package}` must not build on `{dependency}`"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_downwards() {
        for (package, dependencies, expected) in [
            ("xway-kernel", &["xway-sys", "xway-spec"][..], 0),
            ("xway-lab", &["xway-kernel"], 0),
            ("xway-spec", &["xway-sys"], 1),
            ("xway-sys", &["xway-report"], 1),
            ("xway-kernel", &["xway-lab"], 1),
            ("xway-functions", &["xway-spec"], 0),
            ("xway-functions", &["xway-spec", "xway-kernel", "xway-sys"], 2),
            ("xway-unheard", &[], 1),
            ("xway", &["xway-unheard"], 1),
        ] {
            let names = dependencies.iter().map(|name| (*name).to_owned()).collect();
            let wrong = broken(&[(package.to_owned(), names)]);
            assert_eq!(wrong.len(), expected, "{package} on {dependencies:?}: {wrong:?}");
        }
    }

    #[test]
    fn metadata_is_read() {
        let metadata = serde_json::json!({"packages": [{"name": "a", "dependencies": [
            {"name": "b", "kind": null, "path": "x"},
            {"name": "c", "kind": "dev", "path": "x"},
            {"name": "d", "kind": "build", "path": "x"},
            {"name": "serde", "kind": null},
        ]}]});
        assert_eq!(edges(&metadata), [("a".to_owned(), vec!["b".to_owned(), "d".to_owned()])]);
    }
}
