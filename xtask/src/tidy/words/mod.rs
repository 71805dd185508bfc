//! The words that comments, messages and documents use.
//!
//! Rule: comments of Rust and C, strings of code that is not a test, and Markdown avoid the
//! phrases of `table`. Names in backticks and strings without a space are identifiers, which are
//! not read. Findings count per crate, because the list of exceptions bounds them per crate.

mod prose;
mod table;

use super::{Finding, Source};
use prose::Prose;
use table::{DANGLING, PHRASES, Phrase};

/// The name of this rule.
pub const RULE: &str = "words";

/// Reports each phrase to avoid in one file.
pub fn check(source: &Source, findings: &mut Vec<Finding>) {
    if EXEMPT.iter().any(|prefix| source.path.starts_with(prefix)) {
        return;
    }
    let Some(prose) = Prose::of(source) else { return };
    let words = prose.words();
    let mut at = 0;
    while at < words.len() {
        let found = PHRASES.iter().find_map(|phrase| Some((phrase, phrase.matches(&words, at)?)));
        if let Some((phrase, length)) = found {
            findings.push(finding(source, &prose, &words[at..at + length], phrase));
        }
        at += found.map_or(1, |(_, length)| length);
    }
    for at in 0..words.len() {
        if words[at].begins_doc
            && let Some((phrase, length)) =
                DANGLING.iter().find_map(|phrase| Some((phrase, phrase.matches(&words, at)?)))
        {
            let mut finding = finding(source, &prose, &words[at..at + length], phrase);
            finding.message = format!("a doc comment begins with {}", finding.message);
            findings.push(finding);
        }
    }
}

fn finding(source: &Source, prose: &Prose<'_>, words: &[Word<'_>], phrase: &Phrase) -> Finding {
    let written: Vec<&str> = words.iter().map(|word| word.text).collect();
    let line = words.first().map_or(1, |word| prose.line(word.at));
    let message = format!("`{}`: write: {}", written.join(" "), phrase.instead);
    Finding { rule: RULE, path: source.path.clone(), line, measure: 1, message }
}

/// The crate, or the folder below the root, that a file belongs to; a file of the root is one of
/// its own.
pub fn area(path: &str) -> &str {
    let names = if path.starts_with("crates/") { 2 } else { 1 };
    path.match_indices('/').nth(names - 1).map_or(path, |(end, _)| &path[..end])
}

/// One word of a text.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    text: &'a str,
    at: usize,
    /// Only white space separates it from the word before.
    is_joined: bool,
    /// It is the first word of a doc comment.
    begins_doc: bool,
}

impl Phrase {
    /// The number of words of this phrase at `words[at]`, if they are it.
    fn matches(&self, words: &[Word<'_>], at: usize) -> Option<usize> {
        let parts: Vec<&str> = self.pattern.split(' ').collect();
        let length = matched(&parts, &words[at..])?;
        let any = |list: &[&str], word: Option<&Word<'_>>| {
            word.is_some_and(|word| list.iter().any(|one| word.text.eq_ignore_ascii_case(one)))
        };
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let before = before.filter(|_| words[at].is_joined);
        let after = words.get(at + length).filter(|word| word.is_joined);
        let is_correct = any(self.except_after, before) || any(self.except_before, after);
        (!is_correct).then_some(length)
    }
}

/// The number of words that the parts of a pattern match at the start of `words`.
fn matched(parts: &[&str], words: &[Word<'_>]) -> Option<usize> {
    let Some((part, rest)) = parts.split_first() else { return Some(0) };
    if *part == ".." {
        let joined = words.iter().take_while(|word| word.is_joined).count();
        let skipped = 0..=joined.min(GAP);
        return skipped
            .filter_map(|skip| Some(skip + matched(rest, &words[skip..])?))
            .find(|length| words[..*length].iter().all(|word| word.is_joined));
    }
    let (first, after) = words.split_first()?;
    let is_match = part.split('|').any(|one| first.text.eq_ignore_ascii_case(one));
    let is_joined = rest.is_empty() || after.first().is_some_and(|word| word.is_joined);
    (is_match && is_joined).then(|| matched(rest, after).map(|length| length + 1))?
}

/// How many words `..` skips.
const GAP: usize = 2;
/// The list itself, whose entries are what it forbids, and texts that programs of other projects
/// wrote.
const EXEMPT: &[&str] = &["xtask/src/tidy/words/", "bench/runs/"];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(path.to_owned(), text.to_owned());
        let mut findings = Vec::new();
        check(&source, &mut findings);
        let phrase = |message: &str| message.split('`').nth(1).unwrap_or_default().to_owned();
        findings.iter().map(|f| format!("{}:{}", f.line, phrase(&f.message))).collect()
    }

    #[test]
    fn phrases_of_a_text() {
        for (text, expected) in [
            ("It tells the caller.", &["1:tells"][..]),
            ("TOLD twice: told.", &["1:TOLD", "1:told"]),
            ("retells, tells_all", &[]),
            ("the rules in\nforce", &["1:in force"]),
            ("in, force", &[]),
            (
                "gives back, gives it back, gives the frame back",
                &["1:gives back", "1:gives it back", "1:gives the frame back"],
            ),
            ("gives a frame of memory back", &[]),
            ("gives it. Then back", &[]),
            ("`tcpp` is no protocol", &["1:is no"]),
            ("There is no file; it is no longer there", &[]),
            ("as many bytes; as many as there are", &["1:as many"]),
            ("an odd frame of odd length", &["1:odd"]),
            ("`told` and `a b tells c`", &[]),
            ("put in force at once", &["1:put in force", "1:at once"]),
        ] {
            assert_eq!(found("docs/a.md", text), expected, "{text}");
        }
    }

    #[test]
    fn comments_and_strings_of_code() {
        for (path, text, expected) in [
            (
                "crates/a/src/b.rs",
                "//! tells\n/// at\n/// once\nfn told() {}",
                &["1:tells", "2:at once"][..],
            ),
            ("crates/a/src/b.rs", "fn a() { b(\"it is\\n told\", \"told\") }", &["1:told"]),
            ("crates/a/src/b.rs", "fn a() { b(\"in\", \"force\") }", &[]),
            ("crates/a/src/b.rs", "fn a() { b(\"at \\\n   once\") }", &["1:at once"]),
            ("tests/tests/b.rs", "// tells\nfn a() { b(\"it is told\") }", &["1:tells"]),
            (
                "crates/a/src/b.rs",
                "#[cfg(test)]\nmod tests {\nfn a() { \"it is told\" } // told\n}",
                &["3:told"],
            ),
            ("bpf/a.bpf.c", "/* tells */\nint told;", &["1:tells"]),
            ("crates/a/a.toml", "# tells", &[]),
        ] {
            assert_eq!(found(path, text), expected, "{text}");
        }
    }

    #[test]
    fn doc_comments_that_dangle() {
        for (text, expected) in [
            ("/// Of the first.\nfn a() {}", &["1:Of"][..]),
            ("//! x\n/// A line\n/// of two.\nfn a() {}", &[]),
            ("// Of the first.\nfn a() {}", &[]),
            ("/// The same for IPv6.\nfn a() {}", &["1:The same"]),
            ("/// A list:\n///\n/// of lines\nfn a() {}", &[]),
        ] {
            assert_eq!(found("crates/a/src/b.rs", text), expected, "{text}");
        }
    }

    #[test]
    fn areas_are_crates() {
        for (path, expected) in [
            ("crates/vm/src/a/b.rs", "crates/vm"),
            ("tests/tests/a.rs", "tests"),
            ("README.md", "README.md"),
        ] {
            assert_eq!(area(path), expected);
        }
    }
}
