//! `Difference`: what a change does to an Internet checksum (RFC 1624, equation 3).

use super::super::layers::half;

/// The sum of what was taken out and put in, unfolded: room for billions of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference(u64);

impl Difference {
    /// Writes `new` over the bytes at `at`: an even number of them, at an even offset of what the
    /// checksum covers. Whether anything changed.
    pub fn put(&mut self, frame: &mut [u8], at: usize, new: &[u8]) -> bool {
        let old = &mut frame[at..at + new.len()];
        if old == new {
            return false;
        }
        for (old, new) in old.chunks_exact(2).zip(new.chunks_exact(2)) {
            let (old, new) = (half(old, 0).unwrap_or(0), half(new, 0).unwrap_or(0));
            self.0 += u64::from(!old) + u64::from(new);
        }
        old.copy_from_slice(new);
        true
    }

    /// Corrects the checksum at `at`. With `is_optional` (UDP), zero says that there is none.
    pub fn apply(self, frame: &mut [u8], at: usize, is_optional: bool) {
        let Some(old) = half(frame, at).filter(|old| self.0 > 0 && !(is_optional && *old == 0))
        else {
            return;
        };
        let mut sum = u64::from(!old) + self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let new = match !(sum as u16) {
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
