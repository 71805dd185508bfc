//! Several processors at the same time: no update is lost, no element is seen half written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use spec::{Map as _, MapKind};

use super::super::flag;
use super::*;
use crate::memory::{Memory, RegionId};

fn memory(map: &Map) -> Memory {
    let mut memory = Memory::new();
    let (slab, layout) = map.values().unwrap();
    memory.install(RegionId::values_of(0), slab, layout);
    memory
}

#[test]
fn counters_in_place_are_exact() {
    const ROUNDS: u32 = 20_000;
    for kind in [MapKind::HASH, MapKind::PERCPU_HASH, MapKind::ARRAY, MapKind::PERCPU_ARRAY] {
        let map = Arc::new(made(kind, [4, 8, 16], 0));
        let count = |cpu: u32| {
            let map = Arc::clone(&map);
            move || {
                let mut memory = memory(&map);
                for round in 0..ROUNDS {
                    let number = key(round % 16);
                    let first = Entry { key: &number, value: &value(0), flags: flag::NOEXIST };
                    if map.lookup(cpu, &number) == 0 {
                        let answer = map.update(cpu, first);
                        assert!(matches!(answer, Ok(()) | Err(Errno::EEXIST)), "{answer:?}");
                    }
                    let place = map.lookup(cpu, &number);
                    memory.atomic64(place).unwrap().fetch_add(1, Relaxed);
                }
            }
        };
        let threads: Vec<_> = (0..CPUS).map(|cpu| thread::spawn(count(cpu))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let values = (0..16).map(|number| map.read(&key(number)).unwrap());
        let sum: u64 = values
            .flat_map(|value| value.chunks(8).map(|word| word.to_vec()).collect::<Vec<_>>())
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
            .sum();
        assert_eq!(sum, u64::from(ROUNDS * CPUS), "{kind:?}");
    }
}

/// Keys that remain are found throughout while others are inserted and deleted in the same buckets
/// and nodes; the map never exceeds its limit, and is empty at the end.
#[test]
fn what_stays_is_found_in_a_storm_of_insertions_and_deletions() {
    const STAYING: u32 = 8;
    for (kind, flags) in
        [(MapKind::HASH, 0), (MapKind::HASH, flag::NO_PREALLOC), (MapKind::PERCPU_HASH, 0)]
    {
        let map = Arc::new(made(kind, [4, 8, 24], flags));
        for number in 0..STAYING {
            update(&map, 0, &key(number), &value(number.into())).unwrap();
        }
        let done = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..2)
            .map(|cpu| {
                let (map, done) = (Arc::clone(&map), Arc::clone(&done));
                thread::spawn(move || {
                    while !done.load(Relaxed) {
                        for number in 0..STAYING {
                            assert_ne!(map.lookup(cpu, &key(number)), 0, "{number} stays");
                        }
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (1..3_u32)
            .map(|cpu| {
                let map = Arc::clone(&map);
                thread::spawn(move || {
                    for round in 0..30_000 {
                        let number = cpu * 1000 + round % 12;
                        let put = update(&map, cpu, &key(number), &value(round.into()));
                        assert!(matches!(put, Ok(()) | Err(Errno::E2BIG)), "{put:?}");
                        if round % 12 >= 6 {
                            let _ = map.delete(&key(number - 6));
                        }
                        update(&map, cpu, &key(0), &value(0)).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|thread| thread.join().unwrap());
        done.store(true, Relaxed);
        readers.into_iter().for_each(|thread| thread.join().unwrap());
        for key in map.keys().unwrap() {
            map.remove(&key).unwrap();
        }
        for number in 0..24 {
            update(&map, 0, &key(number), &value(0)).unwrap();
        }
        assert_eq!(update(&map, 0, &key(24), &value(0)), Err(Errno::E2BIG), "no node got lost");
    }
}
