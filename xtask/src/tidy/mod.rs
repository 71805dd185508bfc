//! `cargo xtask tidy`: the style rules that neither rustfmt nor clippy checks.
//!
//! Rule: a rule is here only if a machine can decide it, and an exception only with a reason and
//! a bound (`exceptions`). Not here: matters of taste; they are in CONTRIBUTING.md.

mod cycles;
mod exceptions;
mod layers;
mod modules;
mod numbers;
mod paths;
mod rules;
mod text;
mod words;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::root;

use numbers::Numbers;
use text::Text;

/// One place that breaks a rule.
#[derive(Debug)]
pub struct Finding {
    rule: &'static str,
    /// Relative to the repository.
    path: String,
    line: usize,
    /// Columns or lines for rules about lengths, else 1.
    measure: usize,
    message: String,
}

/// A file that rules are applied to.
pub struct Source {
    path: String,
    text: String,
    /// Compiled for tests alone.
    is_test: bool,
}

/// Fails with every place that breaks a rule.
pub fn check() -> Result<()> {
    let sources = sources()?;
    let list = fs::read_to_string(root::path().join(exceptions::PATH)).unwrap_or_default();
    let mut findings = exceptions::apply(findings(&sources)?, &exceptions::parse(&list)?);
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for Finding { rule, path, line, message, .. } in &findings {
        println!("{path}:{line}: {rule}: {message}");
    }
    match findings.len() {
        0 => println!("{} files are tidy", sources.len()),
        count => bail!("{count} findings"),
    }
    Ok(())
}

/// Prints how large the sources are and how many places break which rule, exceptions included.
pub fn print_numbers() -> Result<()> {
    let sources = sources()?;
    println!("{}", Numbers::of(&sources, &findings(&sources)?).json());
    Ok(())
}

/// Prints each phrase to avoid in the files below `path`, whatever the exceptions allow.
pub fn print_words(path: &str) -> Result<()> {
    let mut findings = Vec::new();
    let sources = sources()?;
    let sources = sources.iter().filter(|source| source.is_below(path));
    sources.for_each(|source| words::check(source, &mut findings));
    for Finding { path, line, message, .. } in &findings {
        println!("{path}:{line}: {message}");
    }
    println!("{} phrases to replace", findings.len());
    Ok(())
}

/// Prints the table of levels that ARCHITECTURE.md holds.
pub fn print_levels() {
    print!("{}", layers::table());
}

fn findings(sources: &[Source]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for source in sources {
        rules::check(source, &mut findings);
        words::check(source, &mut findings);
    }
    cycles::check(sources, &mut findings);
    layers::check(sources, &mut findings)?;
    Ok(findings)
}

impl Source {
    fn new(path: String, text: String) -> Self {
        let is_test = path.split('/').any(|folder| folder == "tests");
        Self { path, text, is_test }
    }

    /// The file is `path`, or in the folder `path`; an empty path holds all files.
    fn is_below(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let rest = self.path.strip_prefix(path);
        rest.is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'))
    }

    fn ending(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// The first file of a crate.
    fn is_root(&self) -> bool {
        self.path.ends_with("src/lib.rs") || self.path.ends_with("src/main.rs")
    }

    /// Files of modules that this file declares under `#[cfg(test)]`, without their ending.
    fn test_modules(&self) -> Vec<String> {
        let text = Text::rust(&self.text);
        let (folder, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let folder = match file {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            _ => format!("{folder}/{}", file.trim_end_matches(".rs")),
        };
        let modules = text.words("mod").into_iter().filter(|at| text.is_test(*at));
        modules.map(|at| format!("{folder}/{}", text.name_after(at, "mod"))).collect()
    }
}

fn sources() -> Result<Vec<Source>> {
    let root = root::path();
    let mut sources = Vec::new();
    for path in root::files(&root, "")? {
        let relative = path.strip_prefix(&root)?.to_string_lossy().into_owned();
        if !ENDINGS.iter().any(|ending| relative.ends_with(ending)) {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| relative.clone())?;
        sources.push(Source::new(relative, text));
    }
    let rust = sources.iter().filter(|source| source.ending() == "rs");
    let tests: BTreeSet<String> = rust.flat_map(Source::test_modules).collect();
    for source in &mut sources {
        source.is_test |= tests.iter().any(|module| {
            let rest = source.path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
    }
    Ok(sources)
}

const ENDINGS: &[&str] = &[".rs", ".c", ".h", ".md", ".toml", ".txt", ".sh", "Makefile", ".ci/run"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_for_tests_are_found_where_the_compiler_looks() {
        for (path, expected) in [
            ("crates/a/src/lib.rs", "crates/a/src/memory"),
            ("crates/a/src/b/mod.rs", "crates/a/src/b/memory"),
            ("crates/a/src/b.rs", "crates/a/src/b/memory"),
        ] {
            let text = "//! x\nmod other;\n#[cfg(test)]\nmod memory;\n";
            let source = Source::new(path.to_owned(), text.to_owned());
            assert_eq!(source.test_modules(), [expected], "{path}");
        }
    }
}
