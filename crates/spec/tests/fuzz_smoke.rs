//! Damaged objects, with a fixed seed: whatever the bytes, reading them ends, and ends in an
//! answer. `fuzz/` looks for more with coverage; this keeps what must never come back.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::Spec;
use spec::btf::{Btf, MissingFeatures};

const SEED: u64 = 0x5eed_0b1e_c75e_ed00;
const CASES: usize = 20_000;

/// xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt");
    let folders = [folder.to_owned(), format!("{folder}/test")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "o"));
    paths.sort();
    assert!(paths.len() >= 10, "{paths:?}");
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// One of the ways in which files are damaged.
fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => {
            let number = [0u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX][random.below(5)];
            let end = bytes.len().min(at + 4);
            bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
        }
        3 => bytes.truncate(at),
        4 => {
            let len = random.below(64).min(bytes.len() - at);
            let from = random.below(other.len() - len.min(other.len() - 1));
            let len = len.min(other.len() - from);
            bytes[at..at + len].copy_from_slice(&other[from..from + len]);
        }
        _ => {
            let from = random.below(bytes.len());
            let len = random.below(64).min(bytes.len() - at.max(from));
            bytes.copy_within(from..from + len, at);
        }
    }
    if bytes.is_empty() {
        bytes.push(0);
    }
}

/// All that reads an object.
fn exercise(bytes: &[u8], target: &Btf) -> bool {
    let Ok(mut spec) = Spec::parse("damaged.o", bytes) else { return false };
    // The error is the answer; only its making is tested.
    let _ = spec.relocate(target);
    let globals = spec.globals();
    if let Some(global) = globals.first() {
        let _ = spec.set_global_text(&global.name, "1");
    }
    if let Some(btf) = &spec.btf {
        let lacks = MissingFeatures { enum64: true, datasec: true, ..MissingFeatures::default() };
        let _ = btf.for_kernel(lacks);
        for map in &spec.maps {
            let contents = map.contents.as_deref().unwrap_or_default();
            let _ = btf.value(map.value_type, &contents[..contents.len().min(4096)]);
        }
    }
    for program in &spec.programs {
        assert!(program.fixups.is_sorted_by(|a, b| a.slot < b.slot));
        assert!(program.fixups.iter().all(|fixup| fixup.slot < program.insns.len()));
        assert!(program.lines.is_sorted_by(|a, b| a.slot < b.slot));
        assert!(program.functions.is_sorted_by(|a, b| a.slot <= b.slot));
    }
    true
}

#[test]
fn damaged_objects_are_answered() {
    let corpus = corpus();
    let target = Spec::parse("target", &corpus[corpus.len() / 2]).unwrap().btf.unwrap();
    for bytes in &corpus {
        assert!(exercise(bytes, &target), "whole objects are read");
    }
    let mut random = Random(SEED);
    let mut read = 0;
    for case in 0..CASES {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        let other = &corpus[random.below(corpus.len())];
        for _ in 0..=random.below(4) {
            damage(&mut bytes, other, &mut random);
        }
        let answer = std::panic::catch_unwind(|| exercise(&bytes, &target));
        let Ok(answer) = answer else {
            panic!("case {case} of seed {SEED:#x} panics; {} bytes", bytes.len())
        };
        read += usize::from(answer);
    }
    // Damage that is always detected immediately would test the first check only.
    assert!(read > CASES / 10, "only {read} of {CASES} got through");
}
