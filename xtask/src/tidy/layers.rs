//! Which crate may build on which: strictly downwards.
//!
//! Rule: a crate depends on crates of lower levels alone, which separates system calls, the object
//! model, the runtimes and the user interface. Dependencies of tests are free. ARCHITECTURE.md
//! holds the levels as a table that this module writes.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Finding, Source};
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
    ("xway-runner", 6),
    ("xway", 7),
    ("xway-examples", 7),
    ("xway-fuzz-targets", 7),
    ("xway-tests", 7),
    ("xtask", 7),
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

/// Reports dependencies that do not lead down, and an outdated table in ARCHITECTURE.md.
pub fn check(sources: &[Source], findings: &mut Vec<Finding>) -> Result<()> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root::path())
        .output()
        .context("cargo metadata")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata: {error}");
    let edges = edges(&serde_json::from_slice(&output.stdout)?);
    findings.extend(broken(&edges).into_iter().map(|message| finding("Cargo.toml", message)));
    let page = sources.iter().find(|source| source.path == PAGE);
    if page.is_none_or(|page| written_table(&page.text) != Some(&table())) {
        let message = format!(
            "the table of levels after `{BEGIN}` is missing or outdated: \
             copy the output of `cargo xtask tidy --levels`"
        );
        findings.push(finding(PAGE, message));
    }
    Ok(())
}

fn finding(path: &str, message: String) -> Finding {
    Finding { rule: "layer", path: path.to_owned(), line: 1, measure: 1, message }
}

/// The levels as a table in Markdown, the highest first.
pub fn table() -> String {
    let mut table = "| level | packages |\n|---|---|\n".to_owned();
    let highest = LEVELS.iter().map(|(_, level)| *level).max().unwrap_or_default();
    for level in (0..=highest).rev() {
        let packages = LEVELS.iter().filter(|(_, own)| *own == level);
        let packages: Vec<String> = packages.map(|(name, _)| described(name)).collect();
        table += &format!("| {level} | {} |\n", packages.join(", "));
    }
    table
}

/// A package, with the only ones it may depend on where these are restricted.
fn described(package: &str) -> String {
    match ONLY.iter().find(|(known, _)| *known == package) {
        None => format!("`{package}`"),
        Some((_, [])) => format!("`{package}` (depends on no other)"),
        Some((_, only)) => format!("`{package}` (depends only on `{}`)", only.join("`, `")),
    }
}

/// The table that a page holds between the two markers.
fn written_table(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(BEGIN)?;
    let (table, _) = rest.split_once(END)?;
    table.strip_prefix('\n')
}

/// The page that holds the table.
const PAGE: &str = "ARCHITECTURE.md";
/// The comment before the table.
const BEGIN: &str = "<!-- levels: written by `cargo xtask tidy --levels` -->";
/// The comment after the table.
const END: &str = "<!-- end of levels -->";

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
    fn the_table_of_a_page() {
        let page = format!("# Title\n\n{BEGIN}\n{}{END}\nmore\n", table());
        assert_eq!(written_table(&page), Some(table().as_str()));
        assert_eq!(written_table(&page.replace(END, "")), None);
        assert_ne!(written_table(&page.replace("| 0 |", "| 7 |")), Some(table().as_str()));
        assert!(table().contains("| 0 | `xway-packet` (depends on no other), `xway-report`"));
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
