//! Special fields: where they are by type, and that copies go round them.

use std::sync::Arc;

use spec::MapKind;
use spec::btf::Builder;

use super::super::{Directory, FieldKind, Fields, Orphan, flag};
use super::*;
use crate::memory::{Memory, RegionId};
use crate::world::World;

/// `struct { u32 a; struct bpf_spin_lock lock; struct bpf_timer timer; u64 b; }`
fn types() -> (spec::btf::Btf, u32) {
    let mut types = Builder::new();
    let (word, long) = (types.int("u32", 32, false), types.int("u64", 64, false));
    let lock = types.structure("bpf_spin_lock", 4, &[("val", word, 0)]);
    let array = types.array(long, word, 2);
    let timer = types.structure("bpf_timer", 16, &[("__opaque", array, 0)]);
    let fields = [("a", word, 0), ("lock", lock, 32), ("timer", timer, 64), ("b", long, 192)];
    let value = types.structure("value", 32, &fields);
    (types.build().unwrap(), value)
}

fn special(kind: MapKind, flags: u32) -> (Arc<Directory>, Result<Map, Errno>) {
    let (btf, value_type) = types();
    let home = Arc::new(Directory::new(&World::default(), Some(btf)));
    let def = MapDef { value_type, ..def(kind, [4, 32, 4], flags) };
    let map = Map::create(&def, 0, CPUS, &Arc::downgrade(&home));
    (home, map)
}

#[test]
fn fields_are_found_by_type() {
    let (btf, value) = types();
    let fields = Fields::of(&btf, value, 32);
    let found: Vec<_> = fields.iter().map(|field| (field.kind, field.offset, field.size)).collect();
    assert_eq!(found, [(FieldKind::SpinLock, 4, 4), (FieldKind::Timer, 8, 16)]);
    assert_eq!(fields.plain(32).collect::<Vec<_>>(), [0..4, 8..8, 24..32]);
    assert!(Fields::of(&btf, value, 31).is_empty(), "another size is another type");
    assert!(Fields::of(&btf, 999, 32).is_empty());
}

#[test]
fn only_some_types_may_hold_them() {
    let table = [
        (MapKind::HASH, 0, None),
        (MapKind::ARRAY, 0, None),
        (MapKind::LRU_HASH, 0, Some(Errno::EOPNOTSUPP)),
        (MapKind::PERCPU_ARRAY, 0, Some(Errno::EOPNOTSUPP)),
        (MapKind::LPM_TRIE, flag::NO_PREALLOC, Some(Errno::EINVAL)),
        (MapKind::HASH, flag::RDONLY_PROG, Some(Errno::EACCES)),
    ];
    for (kind, flags, errno) in table {
        assert_eq!(special(kind, flags).1.err(), errno, "{kind:?}");
    }
}

#[test]
fn copies_go_round_special_fields() {
    for kind in [MapKind::HASH, MapKind::ARRAY] {
        let (home, map) = special(kind, 0);
        let map = map.unwrap();
        let mut memory = Memory::new();
        let (slab, layout) = map.values().unwrap();
        memory.install(RegionId::values_of(0), slab, layout);

        map.write(&key(1), &[0xff; 32], flag::ANY).unwrap();
        let place = map.lookup(0, &key(1));
        assert_eq!(memory.load32(place + 4).unwrap(), 0, "the lock is free");
        assert_eq!(memory.load64(place + 8).unwrap(), 0, "no timer");
        memory.store64(place + 8, 77).unwrap();
        let seen = map.read(&key(1)).unwrap();
        assert_eq!(seen, [vec![0xff; 4], vec![0; 20], vec![0xff; 8]].concat());

        map.write(&key(1), &[1; 32], flag::EXIST | flag::LOCK).unwrap();
        assert_eq!(map.lookup(0, &key(1)), place, "in place under the lock");
        assert_eq!(memory.load64(place + 8).unwrap(), 77, "and the timer stays");
        assert_eq!(memory.load32(place + 4).unwrap(), 0, "the lock is free again");
        assert_eq!(map.read_with(&key(1), flag::LOCK).unwrap()[..4], [1; 4]);

        map.write(&key(1), &[2; 32], flag::ANY).unwrap();
        let place = map.lookup(0, &key(1));
        assert_eq!(memory.load64(place + 8).unwrap(), 0, "an update ends the timer");
        assert_eq!(home.take_orphans(), [Orphan { kind: FieldKind::Timer, word: 77 }]);
        assert_eq!(home.take_orphans(), []);

        let mut found = [0; 4];
        assert_eq!(map.key_at(place + 31, &mut found), Some(place));
        assert_eq!(found, key(1));
    }
}

#[test]
fn a_lock_that_nobody_lets_go_of_is_an_error() {
    let (_home, map) = special(MapKind::ARRAY, 0);
    let map = map.unwrap();
    let mut memory = Memory::new();
    let (slab, layout) = map.values().unwrap();
    memory.install(RegionId::values_of(0), slab, layout);
    memory.store32(map.lookup(0, &key(1)) + 4, 1).unwrap();
    assert_eq!(map.write(&key(1), &[1; 32], flag::LOCK), Err(Errno::EBUSY));
}
