//! Maglev and rendezvous hashing, as a table of owners: to compare with, not to use.

use super::{Backend, id};

/// Slots of the Maglev table: a prime number, so that each backend's steps reach all slots.
const PRIME: usize = 65_537;

fn hash(seed: u64, backend: u64, purpose: u64) -> u64 {
    let words = [seed, backend, purpose].map(u64::to_le_bytes);
    id(words.as_flattened())
}

/// Backends take free slots in turns, each in the order of a permutation of its own. A backend
/// takes part in a share of the turns that is its weight over the largest weight.
pub fn maglev(seed: u64, backends: &[Backend]) -> Vec<u64> {
    let largest = backends.iter().map(|backend| u32::from(backend.weight)).max().unwrap_or(0);
    let mut turns: Vec<(u32, usize, usize)> = backends
        .iter()
        .map(|backend| {
            let start = hash(seed, backend.id, 0) % PRIME as u64;
            let step = hash(seed, backend.id, 1) % (PRIME as u64 - 1) + 1;
            (0, start as usize, step as usize)
        })
        .collect();
    let mut owners = vec![None; PRIME];
    let mut left = PRIME;
    loop {
        for (backend, (credit, at, step)) in backends.iter().zip(&mut turns) {
            *credit += u32::from(backend.weight);
            if *credit < largest {
                continue;
            }
            *credit -= largest;
            while owners[*at].is_some() {
                *at = (*at + *step) % PRIME;
            }
            owners[*at] = Some(backend.id);
            left -= 1;
            if left == 0 {
                return owners.into_iter().flatten().collect();
            }
        }
    }
}

/// Each slot belongs to the backend with the smallest exponential random number of rate weight.
pub fn rendezvous(seed: u64, backends: &[Backend]) -> Vec<u64> {
    let keys: Vec<u64> = backends.iter().map(|backend| hash(seed, backend.id, 2)).collect();
    let distance = |slot: u64, index: usize| {
        let mut bits = (keys[index] ^ slot).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        bits ^= bits >> 32;
        let uniform = (bits >> 11) as f64 / (1u64 << 53) as f64;
        -(1.0 - uniform).ln() / f64::from(backends[index].weight)
    };
    (0..PRIME as u64)
        .map(|slot| {
            let nearest = (0..backends.len())
                .filter(|&index| backends[index].weight > 0)
                .min_by(|&one, &other| distance(slot, one).total_cmp(&distance(slot, other)));
            backends[nearest.expect("a backend")].id
        })
        .collect()
}
