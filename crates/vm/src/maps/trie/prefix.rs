//! `struct bpf_lpm_trie_key`: how many bits count, then the bits, the most significant first.

/// A prefix as a key holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix<'a> {
    /// Bits that count.
    pub len: u32,
    pub bits: &'a [u8],
}

impl<'a> Prefix<'a> {
    /// `None` when more bits should count than there are.
    pub fn of(key: &'a [u8]) -> Option<Self> {
        let (len, bits) = key.split_first_chunk::<4>()?;
        let len = u32::from_ne_bytes(*len);
        (len as usize <= bits.len() * 8).then_some(Self { len, bits })
    }

    /// Bits that there are.
    pub fn most(&self) -> u32 {
        self.bits.len() as u32 * 8
    }

    /// The bit of that number, which must be there.
    pub fn bit(&self, number: u32) -> usize {
        (self.bits[number as usize / 8] >> (7 - number % 8) & 1) as usize
    }
}

/// The 64 bits from `8 * at` bytes on; behind the end they are zero.
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
