//! Inputs of the corpus, changed at random from a fixed seed: what a fuzzer finds first, with a
//! stable compiler. `XWAY_FUZZ_MUTATIONS` is the number of changes of each input.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use targets::TARGETS;

const SEED: u64 = 0x5eed_f022;
const MUTATIONS: u64 = 10;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16;
        (number % end.max(1) as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        let edges = [0, 1, 0x7f, 0x80, 0xff, b'0', b'{', b'"', b'-', b'\n'];
        if self.below(2) == 0 { edges[self.below(edges.len())] } else { self.below(256) as u8 }
    }
}

/// One to four changes: bytes, cuts, parts of the input again, parts of another one.
fn mutated(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + random.below(64)).min(bytes.len());
        match random.below(6) {
            0 | 1 if !bytes.is_empty() => bytes[at] = random.byte(),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let from = random.below(other.len());
                let part = other[from..(from + 32).min(other.len())].to_vec();
                bytes.splice(at..end, part);
            }
        }
    }
    bytes
}

#[test]
fn changed_inputs_are_handled() {
    let mutations = std::env::var("XWAY_FUZZ_MUTATIONS").ok();
    let mutations = mutations.map_or(MUTATIONS, |text| text.parse().unwrap());
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut random = Random(SEED);
    let mut failed = Vec::new();
    for target in TARGETS {
        let entries = fs::read_dir(corpus.join(target.name)).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let inputs: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        for _ in 0..mutations {
            for input in &inputs {
                let other = &inputs[random.below(inputs.len())];
                let bytes = mutated(&mut random, input, other);
                if catch_unwind(|| (target.run)(&bytes)).is_err() {
                    let name = format!("xway-fuzz-{}-{}", target.name, failed.len());
                    let path = std::env::temp_dir().join(name);
                    fs::write(&path, &bytes).unwrap();
                    failed.push(path);
                }
            }
        }
    }
    assert!(failed.is_empty(), "inputs that break a promise: {failed:#?}");
}
