//! What differs between a declaration and an interface.

use std::collections::BTreeSet;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Name of the interface that changes.
    pub interface: String,
    /// Kind of the change.
    pub action: Action,
    /// Name of the program: `filter`, `drop`, `forward`, or that of the object.
    pub program: String,
    /// The change as a sentence.
    pub text: String,
    /// Lines that are removed, added and kept, beginning with `-`, `+` and a space; empty for a
    /// change without a text.
    pub diff: Vec<String>,
    /// Whether the other programs that run end with it, and are attached again.
    #[serde(skip)]
    pub(super) restarts: bool,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// A program is attached to an interface without one.
    Attach,
    /// A program replaces another one.
    Replace,
    /// Rules or translations change.
    Rules,
    /// Options change, such as global variables.
    Options,
    /// The program changes between native and generic mode.
    Mode,
    /// A member of a chain has another priority, or continues on other verdicts.
    Move,
    /// The running program is recorded as that of the declaration. Its work does not change.
    Adopt,
    /// The program is detached.
    Detach,
}

impl Change {
    pub(super) fn new(
        interface: &str,
        action: Action,
        program: &str,
        text: impl Into<String>,
    ) -> Self {
        let (interface, program) = (interface.to_owned(), program.to_owned());
        Self { interface, action, program, text: text.into(), diff: Vec::new(), restarts: false }
    }

    pub(super) fn with_diff(self, old: &str, new: &str) -> Self {
        Self { diff: diff(old, new), ..self }
    }

    /// A change of rules whose order has no meaning.
    pub(super) fn with_sets(self, old: &BTreeSet<String>, new: &BTreeSet<String>) -> Self {
        let removed = old.difference(new).map(|rule| format!("-{rule}"));
        let added = new.difference(old).map(|rule| format!("+{rule}"));
        Self { diff: removed.chain(added).collect(), ..self }
    }
}

/// Changed lines with the lines around them.
fn diff(old: &str, new: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push(format!("{sign}{}", change.value().trim_end_matches('\n')));
        }
    }
    lines
}

/// Unchanged lines around a change.
const CONTEXT: usize = 1;
