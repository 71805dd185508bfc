//! SipHash-2-4 (Aumasson, Bernstein 2012): a keyed hash that is the same on every machine.
//!
//! Rule: a hash can be neither computed nor predicted without the key.

/// Hash of `bytes` in 64 bits under a key of 128 bits.
pub fn siphash(key: [u64; 2], bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let mut hash = SipHash::new(key);
    for word in words {
        hash.word(u64::from_le_bytes(*word));
    }
    hash.finish(rest)
}

/// A hash of bytes that arrive in parts; a common beginning is hashed only once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SipHash {
    state: [u64; 4],
    /// Bytes so far.
    len: u8,
}

impl SipHash {
    /// The hash of no bytes.
    pub const fn new(key: [u64; 2]) -> Self {
        let state = [
            key[0] ^ 0x736f_6d65_7073_6575,
            key[1] ^ 0x646f_7261_6e64_6f6d,
            key[0] ^ 0x6c79_6765_6e65_7261,
            key[1] ^ 0x7465_6462_7974_6573,
        ];
        Self { state, len: 0 }
    }

    /// The internal state, from which another implementation continues.
    pub const fn state(&self) -> [u64; 4] {
        self.state
    }

    /// Adds eight bytes, the first one as the lowest of the word.
    pub fn word(&mut self, word: u64) {
        self.len = self.len.wrapping_add(8);
        self.absorb(word);
    }

    /// Adds the last bytes, and returns the hash.
    ///
    /// # Panics
    /// There are more than seven.
    pub fn finish(mut self, rest: &[u8]) -> u64 {
        assert!(rest.len() < 8, "the last word has a byte for the length");
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = self.len.wrapping_add(rest.len() as u8);
        self.absorb(u64::from_le_bytes(last));
        self.state[2] ^= 0xff;
        self.rounds(4);
        self.state.iter().fold(0, |all, word| all ^ word)
    }

    fn absorb(&mut self, word: u64) {
        self.state[3] ^= word;
        self.rounds(2);
        self.state[0] ^= word;
    }

    fn rounds(&mut self, count: usize) {
        let [v0, v1, v2, v3] = &mut self.state;
        for _ in 0..count {
            *v0 = v0.wrapping_add(*v1);
            *v1 = v1.rotate_left(13) ^ *v0;
            *v0 = v0.rotate_left(32);
            *v2 = v2.wrapping_add(*v3);
            *v3 = v3.rotate_left(16) ^ *v2;
            *v0 = v0.wrapping_add(*v3);
            *v3 = v3.rotate_left(21) ^ *v0;
            *v2 = v2.wrapping_add(*v1);
            *v1 = v1.rotate_left(17) ^ *v2;
            *v2 = v2.rotate_left(32);
        }
    }
}

/// The state reveals the key.
impl std::fmt::Debug for SipHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SipHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];

    #[test]
    fn the_vectors_of_the_paper() {
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(KEY, &bytes), 0xa129_ca61_49be_45e5);
        assert_eq!(siphash(KEY, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(siphash(KEY, &bytes[..8]), 0x93f5_f579_9a93_2462);
    }

    #[test]
    fn parts_and_the_whole_have_one_hash() {
        let bytes: Vec<u8> = (0..22).collect();
        let mut begun = SipHash::new(KEY);
        for word in bytes.as_chunks().0 {
            begun.word(u64::from_le_bytes(*word));
        }
        assert_eq!(begun.finish(&bytes[16..]), siphash(KEY, &bytes));
        assert_eq!(format!("{begun:?}"), "SipHash(..)");
    }
}
