//! SipHash-2-4 (Aumasson, Bernstein 2012): a keyed hash that is the same on every machine.

/// Hash of `bytes` in 64 bits under a key of 128 bits.
pub(crate) fn siphash(key: [u64; 2], bytes: &[u8]) -> u64 {
    let mut state = State([
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ]);
    let words = bytes.chunks_exact(8);
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    last[7] = bytes.len() as u8;
    for word in words.chain(std::iter::once(&last[..])) {
        let mut number = [0; 8];
        number.copy_from_slice(word);
        state.take(u64::from_le_bytes(number));
    }
    state.finish()
}

struct State([u64; 4]);

impl State {
    fn take(&mut self, word: u64) {
        self.0[3] ^= word;
        self.rounds(2);
        self.0[0] ^= word;
    }

    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        self.rounds(4);
        self.0.iter().fold(0, |all, word| all ^ word)
    }

    fn rounds(&mut self, count: usize) {
        let [v0, v1, v2, v3] = &mut self.0;
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

#[cfg(test)]
mod tests {
    use super::siphash;

    #[test]
    fn the_vectors_of_the_paper() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(key, &bytes), 0xa129_ca61_49be_45e5);
        assert_eq!(siphash(key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(siphash(key, &bytes[..8]), 0x93f5_f579_9a93_2462);
    }
}
