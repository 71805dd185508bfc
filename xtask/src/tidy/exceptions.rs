//! What is allowed despite a rule: `RULE PATH BOUND reason`, one a line, `#` for comments.
//!
//! Rule: the list may only shrink. An exception is for one rule in one file, or in one crate for
//! words, with a bound: the worst measure for lengths and widths, the number of findings for all
//! other rules. It must have a reason, must be needed, and must be as tight as possible.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::{Finding, words};

/// Where the list is, relative to the repository.
pub const PATH: &str = "xtask/tidy-exceptions.txt";

#[derive(Debug, PartialEq, Eq)]
pub struct Exception {
    pub rule: String,
    pub path: String,
    pub bound: usize,
    line: usize,
}

pub fn parse(text: &str) -> Result<Vec<Exception>> {
    let mut exceptions: Vec<Exception> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = || format!("{PATH}:{}", number + 1);
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().filter(|word| !word.is_empty());
        let (rule, path, bound, reason) = (word(), word(), word(), word());
        ensure!(reason.is_some(), "{}: RULE PATH BOUND reason", place());
        let bound = bound.unwrap_or_default().parse();
        let bound = bound.with_context(|| format!("{}: the bound is a number", place()))?;
        let (rule, path) = (rule.unwrap_or_default().into(), path.unwrap_or_default().into());
        let twice = exceptions.iter().any(|known| known.rule == rule && known.path == path);
        ensure!(!twice, "{}: a second exception for {rule} in {path}", place());
        exceptions.push(Exception { rule, path, bound, line: number + 1 });
    }
    Ok(exceptions)
}

/// Findings that no exception covers, and what is wrong with the exceptions.
pub fn apply(findings: Vec<Finding>, exceptions: &[Exception]) -> Vec<Finding> {
    let mut measures: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for finding in &findings {
        let measure = measures.entry((finding.rule, place(finding).to_owned())).or_default();
        match is_length(finding.rule) {
            true => *measure = finding.measure.max(*measure),
            false => *measure += finding.measure,
        }
    }
    let bounds = exceptions.iter().map(|exception| {
        let Exception { rule, path, .. } = exception;
        let found = measures.iter().find(|((r, p), _)| r == rule && p == path);
        (exception, found.map_or(0, |(_, measure)| *measure))
    });
    let bounds: Vec<(&Exception, usize)> = bounds.collect();
    let wrong = bounds.iter().filter_map(|(exception, measure)| complaint(exception, *measure));
    let wrong: Vec<Finding> = wrong.collect();
    let is_covered = |finding: &Finding| {
        let about = |exception: &Exception| {
            exception.rule == finding.rule && exception.path == place(finding)
        };
        let bound = bounds.iter().find(|(exception, _)| about(exception));
        // Words over the bound of their crate are one finding, not hundreds.
        bound.is_some_and(|(exception, measure)| {
            *measure <= exception.bound || finding.rule == words::RULE
        })
    };
    findings.into_iter().filter(|finding| !is_covered(finding)).chain(wrong).collect()
}

/// What is wrong with an exception, given the measure of what it covers.
fn complaint(exception: &Exception, measure: usize) -> Option<Finding> {
    let Exception { rule, path, bound, line } = exception;
    let message = match measure {
        0 => "not needed any more: remove it".to_owned(),
        _ if measure < *bound => format!("the bound can be {measure}"),
        _ if measure > *bound && rule == words::RULE => format!(
            "{measure} phrases to replace, at most {bound}: `cargo xtask tidy --words {path}`"
        ),
        _ => return None,
    };
    let message = format!("{rule} {path}: {message}");
    Some(Finding { rule: "exception", path: PATH.into(), line: *line, measure: 1, message })
}

/// The path that an exception for this finding names.
fn place(finding: &Finding) -> &str {
    if finding.rule == words::RULE { words::area(&finding.path) } else { &finding.path }
}

fn is_length(rule: &str) -> bool {
    matches!(rule, "width" | "file-length" | "function-length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &'static str, measure: usize) -> Finding {
        Finding { rule, path: "a.rs".into(), line: 1, measure, message: String::new() }
    }

    #[test]
    fn bounds() {
        for (name, found, list, left) in [
            ("none", vec![("unwrap", 1)], "", vec!["unwrap"]),
            ("count fits", vec![("unwrap", 1), ("unwrap", 1)], "unwrap a.rs 2 why", vec![]),
            (
                "count exceeded",
                vec![("unwrap", 1), ("unwrap", 1)],
                "unwrap a.rs 1 why",
                vec!["unwrap", "unwrap"],
            ),
            ("worst fits", vec![("width", 120), ("width", 110)], "width a.rs 120 why", vec![]),
            ("too loose", vec![("width", 110)], "width a.rs 120 why", vec!["exception"]),
            ("unused", vec![], "# note\n\nunwrap a.rs 1 why", vec!["exception"]),
            ("words fit", vec![("words", 1), ("words", 1)], "words a.rs 2 why", vec![]),
            (
                "too many words",
                vec![("words", 1), ("words", 1)],
                "words a.rs 1 why",
                vec!["exception"],
            ),
            ("words without an exception", vec![("words", 1)], "", vec!["words"]),
            ("other file", vec![("unwrap", 1)], "unwrap b.rs 1 why", vec!["unwrap", "exception"]),
        ] {
            let findings = found.into_iter().map(|(rule, measure)| finding(rule, measure));
            let left_over = apply(findings.collect(), &parse(list).unwrap());
            let rules: Vec<&str> = left_over.iter().map(|finding| finding.rule).collect();
            assert_eq!(rules, left, "{name}");
        }
    }

    #[test]
    fn malformed_exceptions() {
        for (list, reason) in [
            ("unwrap a.rs 1", "RULE PATH BOUND reason"),
            ("unwrap a.rs many why", "the bound is a number"),
            ("unwrap a.rs 1 why\nunwrap a.rs 2 why", "a second exception"),
        ] {
            let error = format!("{:#}", parse(list).unwrap_err());
            assert!(error.contains(reason), "{list}: {error}");
        }
    }
}
