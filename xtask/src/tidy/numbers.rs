//! The size and the state of the sources in five numbers, for comparison between commits.
//!
//! Rule: each number is a plain count over all files, before any exception is applied. Lines are
//! those of Rust that are not blank, comments included; generated layouts count as production.

use super::text::Text;
use super::{Finding, Source};

/// The counts that `cargo xtask tidy --json` prints.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Lines outside of tests, including examples and build tools.
    production_lines: usize,
    /// Lines of test modules, test folders and benchmarks.
    test_lines: usize,
    /// Groups of two or more modules that use each other in a circle.
    circles: usize,
    /// Rust and C functions of more than 70 lines.
    functions_over_70: usize,
    /// Items and fields that library crates declare `pub` without a doc comment.
    undocumented_public: usize,
}

impl Numbers {
    /// Counts the sources and the findings that are already known about them.
    pub fn of(sources: &[Source], findings: &[Finding]) -> Self {
        let broken = |rule| findings.iter().filter(|finding| finding.rule == rule).count();
        let mut numbers = Self {
            circles: broken("cycle"),
            functions_over_70: broken("function-length"),
            ..Self::default()
        };
        let libraries: Vec<&str> =
            sources.iter().filter_map(|source| source.path.strip_suffix("lib.rs")).collect();
        for source in sources.iter().filter(|source| source.ending() == "rs") {
            let text = Text::rust(&source.text);
            numbers.count_lines(source, &text);
            if libraries.iter().any(|folder| source.path.starts_with(folder)) && !source.is_test {
                numbers.undocumented_public += undocumented(source, &text);
            }
        }
        numbers
    }

    /// One line of JSON, with the fields in the order of their declaration.
    pub fn json(&self) -> String {
        let Self { production_lines, test_lines, circles, functions_over_70, undocumented_public } =
            self;
        format!(
            "{{\"production_lines\": {production_lines}, \"test_lines\": {test_lines}, \
             \"circles\": {circles}, \"functions_over_70\": {functions_over_70}, \
             \"undocumented_public\": {undocumented_public}}}"
        )
    }

    fn count_lines(&mut self, source: &Source, text: &Text) {
        let is_test = source.is_test || source.path.split('/').any(|folder| folder == "benches");
        for (at, line) in lines(&source.text) {
            let indent = line.len() - line.trim_start().len();
            match (line.trim().is_empty(), is_test || text.is_test(at + indent)) {
                (true, _) => (),
                (false, true) => self.test_lines += 1,
                (false, false) => self.production_lines += 1,
            }
        }
    }
}

/// How many public declarations have neither a doc comment nor a `doc` attribute above them.
/// Exports of other items and modules, which document themselves, do not count.
fn undocumented(source: &Source, text: &Text) -> usize {
    let mut is_documented = false;
    let mut count = 0;
    for (at, line) in lines(&source.text) {
        let line = line.trim();
        if line.starts_with("///") || line.starts_with("#[doc") {
            is_documented = true;
        } else if !line.starts_with("#[") {
            let is_exempt = line.starts_with("pub use ") || line.starts_with("pub mod ");
            let is_public = line.starts_with("pub ") && !is_exempt && !text.is_test(at);
            count += usize::from(is_public && !is_documented);
            is_documented = false;
        }
    }
    count
}

/// Lines with the positions where they start.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |next, line| {
        let at = *next;
        *next += line.len();
        Some((at, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let library = "//! x\n\n/// Documented.\n#[inline]\npub fn a() {}\npub fn b() {}\n\
                       pub mod c;\npub(crate) fn d() {}\n#[cfg(test)]\nmod tests {\n    \
                       pub fn e() {}\n}\n";
        let sources: Vec<Source> = [
            ("crates/a/src/lib.rs", library),
            ("crates/a/tests/b.rs", "//! x\npub fn a() {}\n"),
            ("crates/a/benches/c.rs", "//! x\n"),
            ("xtask/src/main.rs", "//! x\npub fn a() {}\n"),
            ("docs/a.md", "text\n"),
        ]
        .map(|(path, text)| Source::new(path.to_owned(), text.to_owned()))
        .into();
        let expected = Numbers {
            production_lines: 9,
            test_lines: 7,
            undocumented_public: 1,
            ..Numbers::default()
        };
        assert_eq!(Numbers::of(&sources, &[]), expected);
        let json = "{\"production_lines\": 9, \"test_lines\": 7, \"circles\": 0, \
                    \"functions_over_70\": 0, \"undocumented_public\": 1}";
        assert_eq!(expected.json(), json);
    }
}
