//! Prefix tries against a plain list of prefixes, and their order.

use spec::MapKind;

use super::super::flag;
use super::*;
use crate::memory::{Memory, RegionId};

fn prefix(len: u32, bits: &[u8]) -> Vec<u8> {
    [&len.to_ne_bytes(), bits].concat()
}

/// What a program finds.
fn found(map: &Map, memory: &Memory, key: &[u8]) -> Option<u64> {
    let address = map.lookup(0, key);
    (address != 0).then(|| memory.load64(address).unwrap())
}

fn memory(map: &Map) -> Memory {
    let mut memory = Memory::new();
    let (slab, layout) = map.values().unwrap();
    memory.install(RegionId::values_of(0), slab, layout);
    memory
}

/// A list of (length, bits, value): the slow truth.
#[derive(Default)]
struct List(Vec<(u32, Vec<u8>, u64)>);

impl List {
    fn common(a: &[u8], b: &[u8]) -> u32 {
        let bit = |bytes: &[u8], at: u32| bytes[at as usize / 8] >> (7 - at % 8) & 1;
        (0..a.len() as u32 * 8).take_while(|at| bit(a, *at) == bit(b, *at)).count() as u32
    }

    fn place(&self, len: u32, bits: &[u8]) -> Option<usize> {
        self.0.iter().position(|own| own.0 == len && Self::common(&own.1, bits) >= len)
    }

    fn longest(&self, len: u32, bits: &[u8]) -> Option<u64> {
        let matching =
            |own: &&(u32, Vec<u8>, u64)| own.0 <= len && Self::common(&own.1, bits) >= own.0;
        self.0.iter().filter(matching).max_by_key(|own| own.0).map(|own| own.2)
    }
}

#[test]
fn a_trie_answers_as_a_list_would() {
    for data in [1, 2, 4, 7, 8, 11, 16] {
        let map = made(MapKind::LPM_TRIE, [4 + data, 8, 60], flag::NO_PREALLOC);
        let memory = memory(&map);
        let mut list = List::default();
        let mut random = crate::maps::tests::Random(u64::from(data) + 1);
        for round in 0..4000_u64 {
            let bits: Vec<u8> = (0..data).map(|_| [0, 1, 0x80, 0xff][random.below(4)]).collect();
            let len = random.below(data as usize * 8 + 1) as u32;
            let key = prefix(len, &bits);
            let place = list.place(len, &bits);
            match random.below(4) {
                0 => {
                    let expected = place.map(|place| drop(list.0.swap_remove(place)));
                    assert_eq!(map.delete(&key), expected.ok_or(Errno::ENOENT));
                }
                1 => {
                    let full = place.is_none() && list.0.len() == 60;
                    if !full {
                        place.map(|place| list.0.swap_remove(place));
                        list.0.push((len, bits.clone(), round));
                    }
                    let expected = if full { Err(Errno::ENOSPC) } else { Ok(()) };
                    assert_eq!(map.write(&key, &value(round), flag::ANY), expected);
                }
                _ => assert_eq!(found(&map, &memory, &key), list.longest(len, &bits)),
            }
        }
        assert!(list.0.len() > 5, "{data}");
    }
}

#[test]
fn errors() {
    let map = made(MapKind::LPM_TRIE, [8, 8, 2], flag::NO_PREALLOC);
    let table = [
        (prefix(33, &[0; 4]), flag::ANY, Err(Errno::EINVAL)),
        (prefix(8, &[10, 0, 0, 0]), 4, Err(Errno::EINVAL)),
        (prefix(8, &[10, 0, 0, 0]), flag::EXIST, Err(Errno::ENOENT)),
        (prefix(8, &[10, 0, 0, 0]), flag::NOEXIST, Ok(())),
        (prefix(8, &[10, 9, 9, 9]), flag::NOEXIST, Err(Errno::EEXIST)),
        (prefix(9, &[10, 0, 0, 0]), flag::ANY, Ok(())),
        (prefix(10, &[10, 0, 0, 0]), flag::ANY, Err(Errno::ENOSPC)),
        (prefix(9, &[10, 0, 0, 0]), flag::EXIST, Ok(())),
    ];
    for (key, flags, expected) in table {
        assert_eq!(map.write(&key, &value(1), flags), expected, "{key:?} {flags}");
    }
    assert_eq!(map.delete(&prefix(33, &[0; 4])), Err(Errno::EINVAL));
    assert_eq!(map.delete(&prefix(7, &[10, 0, 0, 0])), Err(Errno::ENOENT));
    assert_eq!(map.read(&prefix(33, &[10, 0, 0, 0])), Err(Errno::ENOENT));
    assert_eq!(map.take(&prefix(8, &[10, 0, 0, 0]), flag::ANY), Err(Errno::ENOTSUPP));
}

#[test]
fn the_more_specific_come_first() {
    let map = made(MapKind::LPM_TRIE, [8, 8, 16], flag::NO_PREALLOC);
    assert_eq!(map.next_key(None), Err(Errno::ENOENT));
    let order = [
        prefix(24, &[10, 1, 2, 0]),
        prefix(24, &[10, 1, 128, 0]),
        prefix(16, &[10, 1, 0, 0]),
        prefix(8, &[10, 0, 0, 0]),
        prefix(32, &[192, 168, 0, 1]),
        prefix(0, &[0, 0, 0, 0]),
    ];
    for place in [5, 2, 0, 3, 4, 1] {
        map.write(&order[place], &value(1), flag::ANY).unwrap();
    }
    let mut at = None;
    for expected in &order {
        at = Some(map.next_key(at.as_deref()).unwrap());
        assert_eq!(at.as_ref(), Some(expected));
    }
    assert_eq!(map.next_key(at.as_deref()), Err(Errno::ENOENT));
    let absent = prefix(31, &[10, 1, 2, 0]);
    assert_eq!(map.next_key(Some(&absent)).unwrap(), order[0], "starts again");
}

/// Readers find one of the two entries that cover an address, or the specific one, always.
#[test]
fn readers_are_right_while_a_writer_changes_everything_around() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let map = made(MapKind::LPM_TRIE, [8, 8, 64], flag::NO_PREALLOC);
    let done = AtomicBool::new(false);
    map.write(&prefix(8, &[10, 0, 0, 0]), &value(8), flag::ANY).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = crate::maps::tests::Random(7);
            for _ in 0..60_000 {
                let len = 9 + random.below(24) as u32;
                let key = prefix(len, &[10, random.below(4) as u8, random.below(4) as u8, 1]);
                match random.below(2) {
                    0 => _ = map.delete(&key),
                    _ => _ = map.write(&key, &value(len.into()), flag::ANY),
                }
            }
            done.store(true, Relaxed);
        });
        scope.spawn(|| {
            let memory = memory(&map);
            while !done.load(Relaxed) {
                let key = prefix(32, &[10, 200, 0, 1]);
                let seen = found(&map, &memory, &key);
                assert!(seen.is_some_and(|len| (8..=32).contains(&len)), "{seen:?}");
            }
        });
    });
}
