//! Hashes: what is in them, how full they get, what is left of a deleted element.

use spec::{Map as _, MapKind};

use super::super::{Cursor, Entry, flag};
use super::*;
use crate::memory::{Memory, RegionId};

/// Reads a program's pointer into the map's values.
fn at(map: &Map, address: u64) -> u64 {
    let mut memory = Memory::new();
    let (slab, layout) = map.values().unwrap();
    memory.install(RegionId::values_of(0), slab, layout);
    memory.load64(address).unwrap()
}

#[test]
fn full_means_max_entries_and_replacing_still_works() {
    for flags in [0, flag::NO_PREALLOC] {
        let map = made(MapKind::HASH, [4, 8, 100], flags);
        for number in 0..100 {
            map.write(&key(number), &value(7), flag::NOEXIST).unwrap();
        }
        assert_eq!(map.write(&key(100), &value(7), flag::ANY), Err(Errno::E2BIG));
        assert_eq!(update(&map, 1, &key(100), &value(7)), Err(Errno::E2BIG));
        for number in 0..100 {
            update(&map, number % CPUS, &key(number), &value(number.into())).unwrap();
        }
        assert_eq!(map.read(&key(99)).unwrap(), value(99));
        map.remove(&key(50)).unwrap();
        assert_eq!(map.remove(&key(50)), Err(Errno::ENOENT));
        map.write(&key(100), &value(7), flag::ANY).unwrap();
        assert_eq!(map.keys().unwrap().len(), 100);
    }
}

#[test]
fn keys_of_every_length_are_told_apart() {
    for len in [1, 2, 3, 4, 5, 8, 12, 13, 16, 33, 100] {
        let map = made(MapKind::HASH, [len, 3, 300], 0);
        let keys: Vec<Vec<u8>> = (0..len.min(20))
            .map(|place| {
                let mut key = vec![0; len as usize];
                key[(len - 1 - place) as usize] = 1;
                key
            })
            .collect();
        for (number, key) in (0..).zip(&keys) {
            map.write(key, &[number, 1, 2], flag::NOEXIST).unwrap();
        }
        for (number, key) in (0..).zip(&keys) {
            assert_eq!(map.read(key).unwrap(), [number, 1, 2], "{len} bytes");
        }
        assert_eq!(map.read(&vec![0; len as usize]), Err(Errno::ENOENT));
    }
}

#[test]
fn an_update_leaves_the_old_element_to_those_who_hold_it() {
    let map = made(MapKind::HASH, [4, 8, 2], 0);
    map.write(&key(1), &value(1), flag::ANY).unwrap();
    let before = map.lookup(0, &key(1));
    update(&map, 0, &key(1), &value(2)).unwrap();
    assert_ne!(map.lookup(0, &key(1)), before);
    assert_eq!((at(&map, before), at(&map, map.lookup(0, &key(1)))), (1, 2));
    map.delete(&key(1)).unwrap();
    assert_eq!(map.lookup(0, &key(1)), 0);
    assert_eq!(at(&map, before), 1, "still memory of the map");
}

#[test]
fn processors_have_values_of_their_own() {
    let map = made(MapKind::PERCPU_HASH, [4, 8, 4], 0);
    let all: Vec<u8> = (0..u64::from(CPUS)).flat_map(|cpu| value(10 + cpu)).collect();
    map.write(&key(1), &all, flag::ANY).unwrap();
    assert_eq!(map.read(&key(1)).unwrap(), all);
    assert_eq!(at(&map, map.lookup(2, &key(1))), 12);

    let place = map.lookup(2, &key(1));
    update(&map, 2, &key(1), &value(99)).unwrap();
    assert_eq!(map.lookup(2, &key(1)), place, "changes in place");
    let after = [value(10), value(11), value(99), value(13)].concat();
    assert_eq!(map.read(&key(1)).unwrap(), after);

    map.remove(&key(1)).unwrap();
    update(&map, 3, &key(1), &value(5)).unwrap();
    let fresh = [value(0), value(0), value(0), value(5)].concat();
    assert_eq!(map.read(&key(1)).unwrap(), fresh, "the others start from zero");
    assert_eq!(map.write(&key(1), &value(1), flag::ANY), Err(Errno::EINVAL), "one value only");
}

#[test]
fn flags_of_updates() {
    let table = [
        (MapKind::HASH, flag::LOCK, Errno::EINVAL),
        (MapKind::HASH, 3, Errno::EINVAL),
        (MapKind::HASH, 8, Errno::EINVAL),
        (MapKind::PERCPU_HASH, flag::LOCK, Errno::EINVAL),
        (MapKind::HASH, flag::EXIST, Errno::ENOENT),
        (MapKind::PERCPU_HASH, flag::EXIST, Errno::ENOENT),
    ];
    for (kind, flags, errno) in table {
        let map = made(kind, [4, 8, 4], 0);
        let answer = map.update(0, Entry { key: &key(1), value: &value(1), flags });
        assert_eq!(answer, Err(errno), "{kind:?} {flags}");
        update(&map, 0, &key(1), &value(1)).unwrap();
        let again = Entry { key: &key(1), value: &value(1), flags: flag::NOEXIST };
        assert_eq!(map.update(0, again), Err(Errno::EEXIST));
        map.update(0, Entry { flags: flag::EXIST, ..again }).unwrap();
    }
}

#[test]
fn walks_see_every_key_once() {
    for kind in [MapKind::HASH, MapKind::PERCPU_HASH] {
        let map = made(kind, [4, 8, 64], 0);
        for number in 0..64 {
            update(&map, 1, &key(number), &value(number.into())).unwrap();
        }
        let mut keys = map.keys().unwrap();
        keys.sort_by_key(|key| u32::from_ne_bytes(key[..].try_into().unwrap()));
        assert_eq!(keys, (0..64).map(|number| key(number).to_vec()).collect::<Vec<_>>());

        let (mut cursor, mut found, mut seen) = (Cursor::default(), key(0), 0_u64);
        while let Some(address) = map.walk(1, &mut cursor, &mut found) {
            let number = u32::from_ne_bytes(found);
            assert_eq!(at(&map, address), number.into());
            seen |= 1 << number;
            map.delete(&found).unwrap();
        }
        assert_eq!(seen, u64::MAX);
        assert_eq!(map.keys().unwrap().len(), 0);
        assert_eq!(map.next_key(Some(&key(0))), Err(Errno::ENOENT));
    }
}

#[test]
fn an_absent_key_starts_the_walk_again() {
    let map = made(MapKind::HASH, [4, 8, 8], 0);
    map.write(&key(1), &value(1), flag::ANY).unwrap();
    assert_eq!(map.next_key(Some(&key(9))).unwrap(), key(1));
    assert_eq!(map.next_key(Some(&key(1))), Err(Errno::ENOENT));
}

#[test]
fn taking_reads_and_removes() {
    let map = made(MapKind::HASH, [4, 8, 8], 0);
    map.write(&key(1), &value(6), flag::ANY).unwrap();
    assert_eq!(map.take(&key(1), flag::ANY).unwrap(), value(6));
    assert_eq!(map.take(&key(1), flag::ANY), Err(Errno::ENOENT));
    assert_eq!(map.take(&key(1), flag::EXIST), Err(Errno::EINVAL));
}

#[test]
fn a_huge_map_costs_what_is_in_it() {
    let map = made(MapKind::HASH, [8, 64, 1 << 26], flag::NO_PREALLOC);
    map.write(&value(1), &[1; 64], flag::ANY).unwrap();
    assert_eq!(map.read(&value(1)).unwrap(), [1; 64]);
}
