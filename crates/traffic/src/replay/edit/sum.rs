//! `Difference`: the effect of edits on a checksum of the frame.

use packet::checksum::Update;
use packet::word;

/// The replaced words so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference(Update);

impl Difference {
    /// Overwrites the bytes at `at` with `new`, an even number of bytes at an even offset of the
    /// covered bytes; returns whether anything changed.
    pub fn put(&mut self, frame: &mut [u8], at: usize, new: &[u8]) -> bool {
        let old = &mut frame[at..at + new.len()];
        if old == new {
            return false;
        }
        self.0.replace(old, new);
        old.copy_from_slice(new);
        true
    }

    /// Updates the checksum at `at`. With `is_optional` (UDP), zero means that there is none.
    pub fn apply(self, frame: &mut [u8], at: usize, is_optional: bool) {
        let is_wanted = |old: &u16| !self.0.is_empty() && (!is_optional || *old != 0);
        let Some(old) = word(frame, at).filter(is_wanted) else { return };
        let new = match self.0.apply(old) {
            0 if is_optional => 0xffff,
            new => new,
        };
        frame[at..at + 2].copy_from_slice(&new.to_be_bytes());
    }
}

impl std::ops::Add for Difference {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
