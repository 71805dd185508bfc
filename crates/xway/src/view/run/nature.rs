//! Text of what a comparison of runtimes left out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// What a comparison left out, with the causes `clock`, `random` and `address`.
#[derive(Debug, Default, Serialize)]
pub struct NotCompared {
    /// Packets with different verdicts that depend on such a value.
    pub verdicts: u64,
    /// Packets with different bytes that depend on such a value.
    pub packets: u64,
    /// Maps with different values that depend on such a value, with the causes.
    pub maps: BTreeMap<String, BTreeSet<&'static str>>,
    /// All causes together.
    pub causes: BTreeSet<&'static str>,
}

impl NotCompared {
    /// One line, or nothing.
    pub fn text(&self) -> String {
        let counted = [(self.verdicts, "verdicts"), (self.packets, "bytes")];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let mut parts: Vec<String> =
            counted.map(|(count, what)| format!("{what} of {count} packets")).collect();
        parts.extend(self.maps.keys().map(|map| format!("map `{map}`")));
        if parts.is_empty() {
            return String::new();
        }
        let causes: Vec<_> = self.causes.iter().copied().collect();
        let (parts, causes) = (parts.join(", "), causes.join(", "));
        format!("not compared, differs by nature ({causes}): {parts}\n")
    }
}
