//! What became of first fragments, for those that follow.

use std::collections::HashMap;

use spec::Verdict;

use crate::model::headers::Siblings;

/// A packet has no more bytes, so no more follow one decision.
const BYTES: u32 = 65535;
/// Nobody puts a packet together for longer.
const LIFE_NS: u64 = 30_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub verdict: Verdict,
    pub rule: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Fragments(HashMap<Siblings, Entry>);

#[derive(Debug)]
struct Entry {
    kept: Kept,
    left: u32,
    until_ns: u64,
}

impl Fragments {
    pub fn keep(&mut self, siblings: Siblings, kept: Kept, now_ns: u64) {
        // What is sent on from here is not done again for each fragment.
        let verdict = match kept.verdict {
            Verdict::Pass | Verdict::Redirect => kept.verdict,
            _ => Verdict::Drop,
        };
        let until_ns = now_ns.saturating_add(LIFE_NS);
        self.0.insert(siblings, Entry { kept: Kept { verdict, ..kept }, left: BYTES, until_ns });
    }

    /// The decision for a later fragment of so many bytes.
    pub fn follow(&mut self, siblings: &Siblings, length: u32, now_ns: u64) -> Option<Kept> {
        let entry = self.0.get_mut(siblings)?;
        if now_ns >= entry.until_ns || length > entry.left {
            return None;
        }
        entry.left -= length;
        Some(entry.kept)
    }
}
