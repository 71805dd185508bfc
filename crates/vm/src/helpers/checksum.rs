//! `bpf_csum_diff`: the change of an Internet checksum when bytes are replaced.

use packet::checksum::fold;
use spec::asm::Helper;

use super::{HelperRow, helper_row};
use crate::fault::Fault;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[helper_row(Helper::CSUM_DIFF, difference)];

fn difference(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [from, from_len, to, to_len, seed] = *args;
    let (from_len, to_len, seed) = (from_len as u32, to_len as u32, seed as u32);
    let sum = match (from_len, to_len) {
        (0, 0) => seed,
        (0, _) => sum(processor, (3, to, to_len), seed)?,
        (_, 0) => !sum(processor, (1, from, from_len), !seed)?,
        _ => {
            let added = sum(processor, (3, to, to_len), seed)?;
            let removed = sum(processor, (1, from, from_len), 0)?;
            add(added, !removed)
        }
    };
    Ok(fold(sum.into()).into())
}

/// The sum of the 32-bit words at an argument's address, added to `sum`.
fn sum(
    processor: &mut Processor,
    (argument, at, len): (u8, u64, u32),
    sum: u32,
) -> Result<u32, Box<Fault>> {
    let (mut sum, mut done) = (sum, 0);
    while done < len {
        let chunk = (len - done).min(super::CHUNK as u32);
        let (place, wanted) = (at + u64::from(done), chunk as usize);
        let bytes = processor.argument("bpf_csum_diff", argument, place, wanted)?;
        sum = words(bytes).fold(sum, add);
        done += chunk;
    }
    Ok(sum)
}

/// The bytes as little-endian words; the last may be short.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(word)
    })
}

/// Adds with end-around carry.
fn add(left: u32, right: u32) -> u32 {
    let (sum, carry) = left.overflowing_add(right);
    sum + u32::from(carry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_carry_around_the_end() {
        assert_eq!(add(0xffff_ffff, 1), 1);
        assert_eq!(add(0xffff_ffff, 0xffff_ffff), 0xffff_ffff);
        for (sum, folded) in [(0, 0), (0x1_0000, 1), (0xffff_ffff, 0xffff), (0x8001_8001, 3)] {
            assert_eq!(fold(sum), folded, "{sum:#x}");
        }
    }

    #[test]
    fn a_short_last_word_is_padded_at_its_end() {
        assert_eq!(words(&[1, 2, 3, 4, 5]).collect::<Vec<_>>(), [0x0403_0201, 5]);
    }
}
