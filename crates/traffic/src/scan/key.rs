//! `Key`: the secret of a scan, from which the order of targets and the cookies derive.

use packet::siphash;

/// 128 secret bits. Scans with the same key and targets send the same probes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u64; 2]);

impl Key {
    /// A key of random bits.
    pub const fn new(bits: [u64; 2]) -> Self {
        Self(bits)
    }

    /// A key from a number, for scans that are repeated. It is as secret as the number.
    pub fn from_seed(seed: u64) -> Self {
        let word = |number: u64| siphash([seed, number], LABEL);
        Self([word(0), word(1)])
    }

    /// The bits, for a file from which a scan is resumed.
    pub const fn bits(self) -> [u64; 2] {
        self.0
    }

    /// A number for one purpose, which reveals nothing about the numbers of others.
    pub(super) fn derive(self, purpose: &str, number: u64) -> u64 {
        let mut bytes = purpose.as_bytes().to_vec();
        bytes.extend(number.to_le_bytes());
        siphash(self.0, &bytes)
    }
}

/// The bits are secret.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

const LABEL: &[u8] = b"xway scan";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_and_seeds_differ() {
        let key = Key::from_seed(7);
        assert_eq!(key, Key::from_seed(7));
        assert_ne!(key, Key::from_seed(8));
        assert_ne!(key.derive("order", 1), key.derive("order", 2));
        assert_ne!(key.derive("order", 1), key.derive("cookie", 1));
        assert_eq!(format!("{key:?}"), "Key(..)");
    }
}
