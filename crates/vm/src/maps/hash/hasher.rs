//! The hash of a key: folded multiplications, the same on every run.
//!
//! The seed is fixed so that runs repeat; the kernel uses a random one for each map.

/// Odd numbers without pattern (digits of pi's fraction).
const SEED: u64 = 0x243f_6a88_85a3_08d3;
const STEP: u64 = 0x1319_8a2e_0370_7345;
const LAST: u64 = 0xa409_3822_299f_31d1;

/// Hash of a key in 32 bits.
#[inline]
pub(super) fn hash(key: &[u8]) -> u32 {
    let state = match *key {
        [a, b, c, d] => SEED ^ u64::from(u32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => SEED ^ u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => absorb(key),
    };
    let mixed = fold(state, STEP ^ key.len() as u64);
    (mixed ^ mixed >> 32) as u32
}

fn absorb(key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut state = SEED;
    for word in words {
        state = fold(state ^ u64::from_ne_bytes(*word), LAST);
    }
    if rest.is_empty() {
        return state;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    state ^ u64::from_ne_bytes(last)
}

/// Both halves of the product.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_count_up_spread_over_all_buckets() {
        for len in [1, 2, 4, 5, 8, 12, 16, 40] {
            let keys = if len == 1 { 256 } else { 4096_u64 };
            let mut buckets = [0; 256];
            for number in 0..keys {
                let mut key = vec![0; len];
                let taken = len.min(8);
                key[len - taken..].copy_from_slice(&number.to_le_bytes()[..taken]);
                buckets[(hash(&key) & 255) as usize] += 1;
            }
            let most = buckets.iter().max().copied().unwrap_or(0);
            let even = keys / 256;
            assert!(most < 4 * even + 5, "{len} bytes: {most} keys in one bucket of {even}");
        }
    }

    #[test]
    fn length_and_every_byte_count() {
        assert_ne!(hash(&[0; 4]), hash(&[0; 8]));
        assert_ne!(hash(&[0; 9]), hash(&[0; 10]));
        for place in 0..20 {
            let mut key = [7; 20];
            key[place] ^= 1;
            assert_ne!(hash(&key), hash(&[7; 20]), "byte {place}");
        }
    }
}
