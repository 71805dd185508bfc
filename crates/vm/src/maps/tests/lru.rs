//! Hashes that drop what was not used lately: bounds, who survives, shares of processors.

use spec::{Map as _, MapKind};

use super::super::flag;
use super::*;

const KINDS: [MapKind; 2] = [MapKind::LRU_HASH, MapKind::LRU_PERCPU_HASH];

#[test]
fn new_elements_push_out_the_unused_ones() {
    for kind in KINDS {
        let map = made(kind, [4, 8, 64], 0);
        for number in 0..64 {
            update(&map, 0, &key(number), &value(1)).unwrap();
        }
        for number in 0..32 {
            assert_ne!(map.lookup(0, &key(number)), 0);
        }
        for number in 100..132 {
            update(&map, 0, &key(number), &value(1)).unwrap();
        }
        assert_eq!(map.keys().unwrap().len(), 64);
        for number in (0..32).chain(100..132) {
            assert!(map.read(&key(number)).is_ok(), "{kind:?}: {number} was used or is new");
        }
    }
}

#[test]
fn user_space_reads_without_using() {
    let map = made(MapKind::LRU_HASH, [4, 8, 4], 0);
    for number in 0..4 {
        update(&map, 0, &key(number), &value(1)).unwrap();
    }
    for number in 0..4 {
        map.read(&key(number)).unwrap();
    }
    assert_ne!(map.lookup(0, &key(1)), 0);
    update(&map, 0, &key(9), &value(1)).unwrap();
    assert_eq!(map.read(&key(0)), Err(Errno::ENOENT), "read, but not used");
    assert!(map.read(&key(1)).is_ok());
}

#[test]
fn replacing_drops_nothing() {
    for kind in KINDS {
        let map = made(kind, [4, 8, 8], 0);
        for round in 0..100 {
            for number in 0..8 {
                update(&map, number % CPUS, &key(number), &value(round)).unwrap();
            }
        }
        assert_eq!(map.keys().unwrap().len(), 8, "{kind:?}");
    }
}

#[test]
fn processors_with_lists_of_their_own_drop_only_their_own() {
    let map = made(MapKind::LRU_HASH, [4, 8, 30], flag::NO_COMMON_LRU);
    assert_eq!(map.attributes().max_entries, 32, "as many for each processor");
    for number in 0..8 {
        update(&map, 1, &key(number), &value(1)).unwrap();
    }
    for number in 100..200 {
        update(&map, 2, &key(number), &value(2)).unwrap();
    }
    for number in 0..8 {
        assert!(map.read(&key(number)).is_ok(), "processor 1 still has {number}");
    }
    assert_eq!(map.keys().unwrap().len(), 16);
}

#[test]
fn a_deleted_element_makes_room() {
    let map = made(MapKind::LRU_HASH, [4, 8, 4], 0);
    for round in 0..1000 {
        update(&map, 0, &key(round), &value(1)).unwrap();
        if round % 3 == 0 {
            map.delete(&key(round)).unwrap();
        }
        assert!(map.keys().unwrap().len() <= 4);
    }
    assert_eq!(map.delete(&key(5000)), Err(Errno::ENOENT));
    let last = map.keys().unwrap();
    assert!(last.contains(&key(998).to_vec()) && !last.contains(&key(999).to_vec()));
}
