//! Bob Jenkins' hash of 2006 ("lookup3"), which the kernel calls jhash, on little-endian words.
//!
//! The kernel's `jhash2`, for keys of whole words, gives the same numbers.

/// Hash of bytes, with a seed.
pub(super) fn jhash(bytes: &[u8], seed: u32) -> u32 {
    let first = START.wrapping_add(bytes.len() as u32).wrapping_add(seed);
    let mut state = [first; 3];
    let mut rest = bytes;
    while rest.len() > BLOCK {
        let (block, behind) = rest.split_at(BLOCK);
        add(&mut state, block);
        mix(&mut state);
        rest = behind;
    }
    if !rest.is_empty() {
        add(&mut state, rest);
        finish(&mut state);
    }
    state[2]
}

/// Adds up to twelve bytes; missing bytes count as zero.
fn add(state: &mut [u32; 3], bytes: &[u8]) {
    let mut block = [0; BLOCK];
    block[..bytes.len()].copy_from_slice(bytes);
    for (word, chunk) in state.iter_mut().zip(block.chunks_exact(4)) {
        *word = word.wrapping_add(u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
    }
}

/// Mixing between blocks: each row is (target, source, rotation, word that gains the third).
fn mix(state: &mut [u32; 3]) {
    const ROWS: [(usize, usize, u32, usize); 6] =
        [(0, 2, 4, 1), (1, 0, 6, 2), (2, 1, 8, 0), (0, 2, 16, 1), (1, 0, 19, 2), (2, 1, 4, 0)];
    for (target, source, turn, third) in ROWS {
        let from = state[source];
        state[target] = state[target].wrapping_sub(from) ^ from.rotate_left(turn);
        state[source] = from.wrapping_add(state[third]);
    }
}

/// Mixing after the last block: each row is (target, source, rotation).
fn finish(state: &mut [u32; 3]) {
    const ROWS: [(usize, usize, u32); 7] =
        [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)];
    for (target, source, turn) in ROWS {
        let from = state[source];
        state[target] = (state[target] ^ from).wrapping_sub(from.rotate_left(turn));
    }
}

const START: u32 = 0xdead_beef;
/// Bytes of a block.
const BLOCK: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that the author's own test program prints (`hashlittle`, driver 5).
    #[test]
    fn published_values() {
        let text = b"Four score and seven years ago";
        for (bytes, seed, hash) in [
            (&b""[..], 0, 0xdead_beef),
            (b"", 0xdead_beef, 0xbd5b_7dde),
            (text, 0, 0x1777_0551),
            (text, 1, 0xcd62_8161),
        ] {
            assert_eq!(jhash(bytes, seed), hash, "{bytes:?} {seed}");
        }
    }
}
