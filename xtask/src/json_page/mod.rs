//! `docs/json.md`, made from `docs/json.in.md` and the doc comments of the types that `--json`
//! prints.
//!
//! A line `<!-- fields: CRATE::MODULE::TYPE -->` of the template becomes the table of the type's
//! keys, types and meanings. A type that has such a table, or that the text explains below
//! `<!-- values: … -->`, is linked to from other tables. A field without a doc comment is an error.
//! `XWAY_WRITE_DOCS=1 cargo test -p xtask json_page` writes the page; without the variable the test
//! compares it.

mod attributes;
mod source;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use self::source::{Key, Sources};
use self::table::Table;

/// Headings, as title and anchor, of the types that have a table or an explanation of their own.
type Anchors = BTreeMap<Key, (String, String)>;

/// The whole page.
fn page(root: &Path) -> Result<String> {
    let sources = Sources::read(&root.join("crates"))?;
    let anchors = anchors(&sources, TEMPLATE)?;
    let mut page = String::new();
    for line in TEMPLATE.lines() {
        match directive(line) {
            Some(("fields", path)) => {
                let mut table = Table::new(&sources, &anchors);
                table.add(&sources.find(path)?).with_context(|| path.to_owned())?;
                page.push_str(&table.text());
            }
            Some(_) => {}
            None => page.push_str(&format!("{line}\n")),
        }
    }
    Ok(page)
}

/// The word and the path of a type in a line that is replaced: `fields` by a table, `values` by
/// nothing, because the text explains the type.
fn directive(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    let (word, path) = inner.split_once(": ")?;
    ["fields", "values"].contains(&word).then_some((word, path))
}

/// The headings above all tables and explanations.
fn anchors(sources: &Sources, template: &str) -> Result<Anchors> {
    let mut anchors = Anchors::new();
    let mut heading = String::new();
    for line in template.lines() {
        if line.starts_with("## ") || line.starts_with("### ") {
            heading = line.trim_start_matches('#').trim().replace('`', "");
        }
        if let Some((_, path)) = directive(line) {
            anchors.insert(sources.find(path)?.key(), (heading.clone(), anchor(&heading)));
        }
    }
    Ok(anchors)
}

/// The anchor that GitHub makes of a heading.
fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

const TEMPLATE: &str = include_str!("../../../docs/json.in.md");

#[test]
fn json_page_is_current() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("docs/json.md");
    let page = page(&root).unwrap_or_else(|error| panic!("{error:#}"));
    if std::env::var_os("XWAY_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/json.md differs from the types: run `XWAY_WRITE_DOCS=1 cargo test -p xtask json_page`"
    );
}

#[test]
fn headings_become_anchors() {
    assert_eq!(anchor("filter load, show"), "filter-load-show");
    assert_eq!(directive("<!-- fields: a::B -->"), Some(("fields", "a::B")));
    assert_eq!(directive("<!-- other -->"), None);
}
