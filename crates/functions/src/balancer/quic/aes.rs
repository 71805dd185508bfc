//! AES-128 of one block (FIPS 197), as the standard describes it: for ids that servers make, and
//! for the round keys and tables of the program, which computes faster and not here.

/// Round keys, each of 16 bytes.
pub(super) type RoundKeys = [[u8; 16]; 11];

/// The round keys of encryption.
pub(super) fn expand(key: &[u8; 16]) -> RoundKeys {
    let sbox = sbox();
    let mut words = [[0; 4]; 44];
    for (word, bytes) in words.iter_mut().zip(key.chunks_exact(4)) {
        word.copy_from_slice(bytes);
    }
    let mut constant = 1;
    for n in 4..words.len() {
        let mut word = words[n - 1];
        if n % 4 == 0 {
            word.rotate_left(1);
            word = word.map(|byte| sbox[usize::from(byte)]);
            word[0] ^= constant;
            constant = product(constant, 2);
        }
        words[n] = std::array::from_fn(|i| word[i] ^ words[n - 4][i]);
    }
    std::array::from_fn(|round| std::array::from_fn(|i| words[4 * round + i / 4][i % 4]))
}

/// The round keys of decryption in the order of the equivalent inverse cipher.
pub(super) fn inverted(keys: &RoundKeys) -> RoundKeys {
    std::array::from_fn(|round| {
        let key = keys[10 - round];
        if round == 0 || round == 10 { key } else { mix(&key, BACKWARD) }
    })
}

pub(super) fn encrypt(keys: &RoundKeys, block: [u8; 16]) -> [u8; 16] {
    let sbox = sbox();
    let mut state = xor(&block, &keys[0]);
    for (round, key) in keys.iter().enumerate().skip(1) {
        // Row `i % 4` of each column comes from that many columns further on.
        state = std::array::from_fn(|i| sbox[usize::from(state[(i + 4 * (i % 4)) % 16])]);
        if round < 10 {
            state = mix(&state, FORWARD);
        }
        state = xor(&state, key);
    }
    state
}

/// `keys` are those of encryption.
pub(super) fn decrypt(keys: &RoundKeys, block: [u8; 16]) -> [u8; 16] {
    let inverse = inverse();
    let mut state = block;
    for (round, key) in keys.iter().enumerate().skip(1).rev() {
        state = xor(&state, key);
        if round < 10 {
            state = mix(&state, BACKWARD);
        }
        state = std::array::from_fn(|i| inverse[usize::from(state[(i + 12 * (i % 4)) % 16])]);
    }
    xor(&state, &keys[0])
}

/// Table of the program: the column of SubBytes and MixColumns for a byte of row 0, twice.
pub(in super::super) fn forward() -> [u64; 256] {
    sbox().map(|byte| doubled(byte, FORWARD))
}

/// Products of their inverses.
pub(in super::super) fn backward() -> [u64; 256] {
    inverse().map(|byte| doubled(byte, BACKWARD))
}

/// The inverse of SubBytes.
pub(in super::super) fn inverse() -> [u8; 256] {
    let mut inverse = [0; 256];
    for (from, to) in (0..=u8::MAX).zip(sbox()) {
        inverse[usize::from(to)] = from;
    }
    inverse
}

fn doubled(byte: u8, factors: [u8; 4]) -> u64 {
    // Row `i` of the product with a column that has only row 0.
    let column: [u8; 4] = std::array::from_fn(|i| product(byte, factors[(4 - i) % 4]));
    let word = u64::from(u32::from_le_bytes(column));
    word | word << 32
}

/// MixColumns, whose first row has these factors.
fn mix(state: &[u8; 16], factors: [u8; 4]) -> [u8; 16] {
    std::array::from_fn(|i| {
        let (column, row) = (i / 4 * 4, i % 4);
        let terms =
            (0..4).map(|other| product(state[column + other], factors[(4 + other - row) % 4]));
        terms.fold(0, |sum, term| sum ^ term)
    })
}

fn xor(one: &[u8; 16], other: &[u8; 16]) -> [u8; 16] {
    std::array::from_fn(|i| one[i] ^ other[i])
}

/// The product in GF(2^8).
fn product(one: u8, other: u8) -> u8 {
    let (mut power, mut sum) = (one, 0);
    for bit in 0..8 {
        if other >> bit & 1 != 0 {
            sum ^= power;
        }
        power = power << 1 ^ if power >> 7 != 0 { REDUCTION } else { 0 };
    }
    sum
}

/// SubBytes: the inverse in GF(2^8), then an affine map.
fn sbox() -> [u8; 256] {
    let mut sbox = [AFFINE; 256];
    // The powers of 3 are all numbers but 0, and those of its inverse, 0xf6, their inverses.
    let (mut number, mut inverse) = (1, 1);
    for _ in 0..255 {
        let rotated = (1..5).map(|bits| u8::rotate_left(inverse, bits));
        sbox[usize::from(number)] = rotated.fold(inverse ^ AFFINE, |sum, one| sum ^ one);
        (number, inverse) = (product(number, 3), product(inverse, 0xf6));
    }
    sbox
}

const FORWARD: [u8; 4] = [2, 3, 1, 1];
const BACKWARD: [u8; 4] = [14, 11, 13, 9];
/// The polynomial of the field without its highest bit.
const REDUCTION: u8 = 0x1b;
const AFFINE: u8 = 0x63;

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix B and C.1.
    #[test]
    fn blocks_of_the_standard() {
        for (key, plain, cipher) in [
            (
                0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128,
                0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128,
                0x3925_841d_02dc_09fb_dc11_8597_196a_0b32_u128,
            ),
            (
                0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f,
                0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
                0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a,
            ),
        ] {
            let keys = expand(&key.to_be_bytes());
            assert_eq!(encrypt(&keys, plain.to_be_bytes()), cipher.to_be_bytes());
            assert_eq!(decrypt(&keys, cipher.to_be_bytes()), plain.to_be_bytes());
        }
    }

    /// FIPS 197, appendix A.1 and figures 7 and 14.
    #[test]
    fn keys_and_tables_of_the_standard() {
        let keys = expand(&0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes());
        assert_eq!(keys[10][12..], [0xb6, 0x63, 0x0c, 0xa6]);
        let sbox = sbox();
        assert_eq!([sbox[0], sbox[0x53], sbox[0xff]], [0x63, 0xed, 0x16]);
        assert_eq!(inverse()[0xed], 0x53);
    }
}
