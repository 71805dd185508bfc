//! `Difference`: what edits of a frame change about a checksum in it.

use packet::checksum::Update;
use packet::word;

/// The words that were replaced so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference(Update);

impl Difference {
    /// Writes `new` over the bytes at `at`: an even number of them, at an even offset of what the
    /// checksum covers. Whether anything changed.
    pub fn put(&mut self, frame: &mut [u8], at: usize, new: &[u8]) -> bool {
        let old = &mut frame[at..at + new.len()];
        if old == new {
            return false;
        }
        self.0.replace(old, new);
        old.copy_from_slice(new);
        true
    }

    /// Corrects the checksum at `at`. With `is_optional` (UDP), zero says that there is none.
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
