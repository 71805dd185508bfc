//! Campaigns with a fixed seed. `fuzz/` searches for more, guided by coverage; these prevent
//! regressions.

use crate::fake::campaign;

const SEED: u64 = 0x5eed_0b1e_c75e_ed00;
const CAMPAIGNS: u64 = if cfg!(miri) { 20 } else { 500 };

#[test]
fn campaigns_of_all_kinds_end_well() {
    let mut random = SEED;
    for number in 0..CAMPAIGNS {
        let len = 20 + number as usize % 600;
        let bytes: Vec<u8> = (0..len)
            .map(|_| {
                // xorshift64*: small, and equal on all machines.
                random ^= random >> 12;
                random ^= random << 25;
                random ^= random >> 27;
                (random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
            })
            .collect();
        campaign(&bytes);
    }
}

/// Inputs that the fuzzer found and that are worth keeping. Miri cannot read files.
#[test]
#[cfg(not(miri))]
fn the_corpus_ends_well() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/xsk_ring");
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        campaign(&std::fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs > 0, "{folder} is empty");
}
