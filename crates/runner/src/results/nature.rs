//! `NotCompared`: what a comparison of runtimes left out.

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
