//! `Fragments`: decisions about first fragments, for the later ones.

use std::collections::HashMap;

use spec::Verdict;

use crate::model::headers::FragmentKey;

/// The most bytes of later fragments per first fragment: the longest packet.
const BYTES: u32 = 65535;
/// How long a decision applies: reassembly does not take longer.
const LIFE_NS: u64 = 30_000_000_000;

/// The decision about a first fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub verdict: Verdict,
    pub rule: Option<usize>,
}

/// The decisions about first fragments, by packet.
#[derive(Debug, Default)]
pub(super) struct Fragments(HashMap<FragmentKey, Entry>);

#[derive(Debug)]
struct Entry {
    kept: Kept,
    left: u32,
    until_ns: u64,
}

impl Fragments {
    /// Stores the decision about a first fragment.
    pub fn keep(&mut self, fragment_key: FragmentKey, kept: Kept, now_ns: u64) {
        // Other actions, such as an answer, are not repeated for each fragment.
        let verdict = match kept.verdict {
            Verdict::Pass | Verdict::Redirect => kept.verdict,
            _ => Verdict::Drop,
        };
        let until_ns = now_ns.saturating_add(LIFE_NS);
        self.0
            .insert(fragment_key, Entry { kept: Kept { verdict, ..kept }, left: BYTES, until_ns });
    }

    /// The decision about a later fragment of this length.
    pub fn follow(&mut self, fragment_key: &FragmentKey, length: u32, now_ns: u64) -> Option<Kept> {
        let entry = self.0.get_mut(fragment_key)?;
        if now_ns >= entry.until_ns || length > entry.left {
            return None;
        }
        entry.left -= length;
        Some(entry.kept)
    }
}
