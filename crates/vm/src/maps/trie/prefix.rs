//! `struct bpf_lpm_trie_key`: prefix length, then the bits, the most significant first.

/// A prefix in a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix<'a> {
    /// Prefix length in bits.
    pub len: u32,
    pub bits: &'a [u8],
}

impl<'a> Prefix<'a> {
    /// The prefix of a key; `None` if its length exceeds its bits.
    pub fn of(key: &'a [u8]) -> Option<Self> {
        let (len, bits) = key.split_first_chunk::<4>()?;
        let len = u32::from_ne_bytes(*len);
        (len as usize <= bits.len() * 8).then_some(Self { len, bits })
    }

    /// Number of bits in the key.
    pub fn most(&self) -> u32 {
        self.bits.len() as u32 * 8
    }

    /// A bit by its number, which must exist.
    pub fn bit(&self, number: u32) -> usize {
        (self.bits[number as usize / 8] >> (7 - number % 8) & 1) as usize
    }
}

/// The 64 bits from byte `8 * at` on; past the end they are zero.
#[inline]
pub(super) fn word_at(bits: &[u8], at: usize) -> u64 {
    match bits[at * 8..] {
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])) << 32,
        [a, b, c, d, e, f, g, h, ..] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        ref rest => {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(word)
        }
    }
}
