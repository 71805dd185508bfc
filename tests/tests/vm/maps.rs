//! Arrays, hashes and prefix tries, kernel against engine: creation, user space, programs.
//!
//! Random sequences of operations with fixed seeds go to both; every answer must agree, error
//! numbers included. Least-recently-used maps are compared below their capacity, where nothing is
//! dropped: which element goes is not promised.

mod support;

use std::collections::BTreeSet;

use spec::{MapDef, MapKind};
use support::special::{self, Special};
use support::{Call, Pair, Ran, Random, User, create, def, refused};

/// Kinds with shape, flags, how many different keys are used.
const TABLES: &[(MapKind, [u32; 3], u32, usize)] = &[
    (MapKind::ARRAY, [4, 8, 6], 0, 8),
    (MapKind::ARRAY, [4, 24, 6], 1 << 10, 8),
    (MapKind::PERCPU_ARRAY, [4, 16, 6], 0, 8),
    (MapKind::HASH, [4, 8, 6], 0, 9),
    (MapKind::HASH, [4, 8, 6], NO_PREALLOC, 9),
    (MapKind::HASH, [8, 40, 30], 0, 50),
    (MapKind::HASH, [13, 8, 3], 0, 5),
    (MapKind::HASH, [16, 16, 1], 0, 3),
    (MapKind::PERCPU_HASH, [4, 8, 6], 0, 9),
    (MapKind::PERCPU_HASH, [4, 8, 6], NO_PREALLOC, 9),
    (MapKind::LRU_HASH, [4, 8, 4000], 0, 9),
    (MapKind::LRU_HASH, [4, 8, 4000], NO_COMMON_LRU, 9),
    (MapKind::LRU_PERCPU_HASH, [4, 16, 4000], 0, 9),
    (MapKind::LPM_TRIE, [8, 8, 20], NO_PREALLOC, 0),
    (MapKind::LPM_TRIE, [5, 16, 6], NO_PREALLOC, 0),
    (MapKind::LPM_TRIE, [20, 8, 40], NO_PREALLOC, 0),
];

const NO_PREALLOC: u32 = 1;
const NO_COMMON_LRU: u32 = 2;

/// A key out of few: numbers, or prefixes of which many cover others.
fn key(def: &MapDef, keys: usize, random: &mut Random) -> Vec<u8> {
    let mut key = vec![0; def.key_size as usize];
    if def.kind == MapKind::LPM_TRIE {
        let bits = (def.key_size as usize - 4) * 8;
        let len = random.below(bits + 2) as u32;
        key[..4].copy_from_slice(&len.to_ne_bytes());
        key[4..].iter_mut().for_each(|byte| *byte = [0, 0, 1, 0x80, 0xff][random.below(5)]);
    } else {
        key[..4].copy_from_slice(&(random.below(keys) as u32).to_ne_bytes());
    }
    key
}

/// Any flags, mostly the good ones.
fn flags(random: &mut Random) -> u64 {
    [0, 0, 0, 0, 1, 2, 3, 4, 5, 8, 1 << 32][random.below(11)]
}

fn operation(def: &MapDef, pair: &Pair, keys: usize, random: &mut Random) -> User {
    let key = key(def, keys, random);
    let mut value = || (0..pair.value_size()).map(|_| random.below(256) as u8).collect();
    let value: Vec<u8> = value();
    match random.below(12) {
        0..5 => User::Update(key, value, flags(random)),
        5..7 => User::Lookup(key, [0, 0, 0, 1, 4][random.below(5)]),
        7..9 => User::Delete(key),
        9 => User::Take(key),
        10 if def.kind == MapKind::LPM_TRIE => User::Next(Some(key)),
        10 if def.kind == MapKind::ARRAY => User::Next(Some(key)),
        _ => User::Lookup(key, 0),
    }
}

#[test]
fn user_space_sees_the_same() {
    for (number, (kind, shape, flags, keys)) in (1..).zip(TABLES) {
        let def = MapDef { flags: *flags, ..def(*kind, *shape) };
        let pair = Pair::new(&def);
        let mut random = Random(number);
        for step in 0..3000 {
            let operation = operation(&def, &pair, *keys, &mut random);
            let (kernel, engine) = pair.user(&operation);
            assert_eq!(engine, kernel, "{:?} step {step}: {operation:?}", def.kind.name());
            if step % 100 == 0 {
                same_keys(&def, &pair);
            }
        }
    }
}

/// Checks that both have the same keys; of a trie and an array in the same order.
fn same_keys(def: &MapDef, pair: &Pair) {
    let (kernel, engine) = pair.keys();
    if matches!(def.kind, MapKind::LPM_TRIE | MapKind::ARRAY | MapKind::PERCPU_ARRAY) {
        assert_eq!(engine, kernel, "{:?}", def.kind.name());
    }
    let sorted = |keys: Vec<Vec<u8>>| keys.into_iter().collect::<BTreeSet<_>>();
    assert_eq!(sorted(engine), sorted(kernel), "{:?}", def.kind.name());
}

#[test]
fn programs_see_the_same() {
    let of_words = |(_, [_, value, _], _, _): &&(MapKind, [u32; 3], u32, usize)| value % 8 == 0;
    for (number, (kind, shape, flags, keys)) in (100..).zip(TABLES.iter().filter(of_words)) {
        let def = MapDef { flags: *flags, ..def(*kind, *shape) };
        let mut pair = Pair::with_program(&def);
        let mut random = Random(number);
        for step in 0..2000 {
            if random.below(4) == 0 {
                let operation = operation(&def, &pair, *keys, &mut random);
                let (kernel, engine) = pair.user(&operation);
                assert_eq!(engine, kernel, "{:?} step {step}: {operation:?}", def.kind.name());
                continue;
            }
            let call = Call {
                kind: random.below(Call::KINDS) as u32,
                flags: self::flags(&mut random),
                key: key(&def, *keys, &mut random),
                other: key(&def, *keys, &mut random),
                value: (0..def.value_size).map(|_| random.below(256) as u8).collect(),
            };
            let (mut kernel, mut engine): (Ran, Ran) = pair.run(&call);
            // What is in the memory of a deleted element is up to the kernel's allocator; and
            // LRU hashes write a new element before they find out that it is refused.
            let lru = matches!(def.kind, MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH);
            if call.reuses() && (flags & NO_PREALLOC != 0 || lru && kernel.0 != 0) {
                (kernel.1, engine.1) = (Vec::new(), Vec::new());
            }
            assert_eq!(engine, kernel, "{:?} {flags} step {step}: {call:?}", def.kind.name());
        }
        same_keys(&def, &pair);
    }
}

// ---- creation -------------------------------------------------------------------------------

const KINDS: &[MapKind] = &[
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
];

fn check(def: &MapDef) {
    let (kernel, engine) = create(def);
    assert_eq!(engine, kernel, "{:?} {def:?}", def.kind.name());
}

#[test]
fn every_shape_is_answered_alike() {
    for kind in KINDS {
        for key in [0, 1, 3, 4, 5, 8, 20, 260, 261, 512, 513, 4096] {
            for value in [0, 1, 4, 7, 8, 4096] {
                for entries in [0, 1, 3, 256] {
                    for flags in [0, NO_PREALLOC] {
                        check(&MapDef { flags, ..def(*kind, [key, value, entries]) });
                    }
                }
            }
        }
    }
}

#[test]
fn every_flag_is_answered_alike() {
    for kind in KINDS {
        let key = if *kind == MapKind::LPM_TRIE { 8 } else { 4 };
        let single = (0..32).map(|bit| 1_u32 << bit).filter(|flag| *flag != TOKEN);
        let pairs = (0..14).flat_map(|one| (0..14).map(move |other| 1 << one | 1 << other));
        for flags in single.chain(pairs).chain([0, 3 << 3 | 1, 3 << 7, !TOKEN]) {
            check(&MapDef { flags, ..def(*kind, [key, 8, 4]) });
            check(&MapDef { flags: flags | NO_PREALLOC, ..def(*kind, [key, 8, 4]) });
        }
    }
}

#[test]
fn sizes_at_the_edge_are_answered_alike() {
    const KMALLOC: u32 = 4 << 20;
    for kind in KINDS {
        let trie = *kind == MapKind::LPM_TRIE;
        let (key, flags) = if trie { (8, NO_PREALLOC) } else { (4, 0) };
        for value in [32760, 32761, 32768, 32769, KMALLOC - 256 - 24, KMALLOC - 256 - 23]
            .into_iter()
            .chain(KMALLOC - 64..=KMALLOC)
        {
            check(&MapDef { flags, ..def(*kind, [key, value, 1]) });
        }
        for extra in [1, u64::MAX] {
            check(&MapDef { flags, extra, ..def(*kind, [key, 8, 1]) });
        }
        for value in [i32::MAX as u32 + 1, u32::MAX] {
            check(&MapDef { flags, ..def(*kind, [key, value, 1]) });
        }
    }
    for entries in [(1 << 27) + 1, 1 << 28, 1 << 31, (1 << 31) + 1, u32::MAX] {
        for kind in [MapKind::HASH, MapKind::PERCPU_HASH] {
            check(&MapDef { flags: NO_PREALLOC, ..def(kind, [4, 8, entries]) });
        }
        check(&MapDef { flags: NO_PREALLOC, ..def(MapKind::LPM_TRIE, [8, 8, entries]) });
    }
}

#[test]
fn frozen_and_one_way_maps_refuse_alike() {
    for kind in [MapKind::ARRAY, MapKind::HASH, MapKind::PERCPU_HASH, MapKind::LRU_HASH] {
        for (flags, frozen) in [(1 << 3, false), (1 << 4, false), (0, true), (1 << 7, true)] {
            let pair = Pair::new(&MapDef { flags, ..def(kind, [4, 8, 4]) });
            if frozen {
                pair.freeze();
            }
            let (key, value) = (vec![0; 4], vec![0; pair.value_size()]);
            for operation in [
                User::Lookup(key.clone(), 0),
                User::Lookup(key.clone(), 4),
                User::Lookup(key.clone(), 1),
                User::Update(key.clone(), value.clone(), 0),
                User::Update(key.clone(), value.clone(), 4),
                User::Update(key.clone(), value, 77),
                User::Delete(key.clone()),
                User::Take(key.clone()),
                User::Next(None),
            ] {
                let (kernel, engine) = pair.user(&operation);
                assert_eq!(engine, kernel, "{:?} {flags} {frozen} {operation:?}", kind.name());
            }
        }
    }
}

#[test]
fn programs_may_not_write_what_they_may_only_read() {
    const RDONLY_PROG: u32 = 1 << 7;
    for kind in [MapKind::HASH, MapKind::ARRAY, MapKind::LRU_HASH] {
        let def = MapDef { flags: RDONLY_PROG, ..def(kind, [4, 8, 4]) };
        for act in [1, 2] {
            let (key, other, value) = (vec![0; 4], vec![0; 4], vec![0; 8]);
            let call = Call { kind: act, flags: 0, key, other, value };
            let (kernel, engine) = refused(&def, &call);
            assert!(kernel.contains("write into map"), "{kernel}");
            assert!(engine.contains("programs may not write into `m`"), "{engine}");
        }
    }
}

// ---- special fields -------------------------------------------------------------------------

const SPECIALS: &[Special] = &[
    Special { name: "bpf_spin_lock", size: 4 },
    Special { name: "bpf_timer", size: 16 },
    Special { name: "bpf_wq", size: 16 },
    Special { name: "plain", size: 16 },
];

#[test]
fn special_fields_are_taken_or_refused_alike() {
    for kind in KINDS.iter().filter(|kind| **kind != MapKind::LPM_TRIE) {
        for special in SPECIALS {
            for flags in [0, 1 << 7, 1 << 8] {
                let def = MapDef { flags, ..def(*kind, [4, 32, 4]) };
                let (kernel, engine) = special::create(&def, *special);
                assert_eq!(engine, kernel, "{:?} {flags} {special:?}", kind.name());
            }
        }
    }
}

#[test]
fn values_with_special_fields_are_read_and_written_alike() {
    for kind in [MapKind::HASH, MapKind::ARRAY] {
        for (number, special) in (1..).zip(SPECIALS) {
            let def = def(kind, [4, 32, 4]);
            let pair = special::pair(&def, *special);
            let mut random = Random(number);
            for step in 0..600 {
                let operation = operation(&def, &pair, 6, &mut random);
                let (kernel, engine) = pair.user(&operation);
                let what = format!("{:?} {special:?} step {step}: {operation:?}", kind.name());
                assert_eq!(engine, kernel, "{what}");
            }
        }
    }
}

/// A flag that asks for another argument.
const TOKEN: u32 = 1 << 16;
