//! Maps of the running kernel: every kind that is used, and what happens at their edges.

use kernel::{Error, LoadOptions, Map, MapCreate, Object, PerCpu};
use spec::{Expect, Initial, Map as _, MapDef, MapKind, Verdict};
use sys::errno::{E2BIG, EEXIST, ENOENT, EPERM};
use xway_tests::program::{self, PinFolder, constant, counting, load, map, object, seen};

fn made(kind: MapKind, shape: [u32; 3]) -> Map {
    let [key_size, value_size, max_entries] = shape;
    let flags = if kind == MapKind::LPM_TRIE { 1 } else { 0 };
    Map::create(&MapCreate {
        name: "test",
        kind: kind.0,
        key_size,
        value_size,
        max_entries,
        flags,
        ..Default::default()
    })
    .unwrap()
}

fn key(number: u32) -> [u8; 4] {
    number.to_ne_bytes()
}

#[test]
fn a_hash_holds_what_it_is_given_and_no_more() {
    let map = made(MapKind::HASH, [4, 8, 2]);
    assert_eq!(map.lookup(&key(1)).unwrap(), None);
    assert!(!map.delete(&key(1)).unwrap());
    map.update(&key(1), &[1; 8], Expect::Absent).unwrap();
    map.update(&key(2), &[2; 8], Expect::Any).unwrap();
    assert_eq!(map.lookup(&key(1)).unwrap(), Some(vec![1; 8]));

    let twice = map.update(&key(1), &[9; 8], Expect::Absent).unwrap_err();
    assert_eq!(twice.errno(), Some(EEXIST));
    let missing = map.update(&key(7), &[9; 8], Expect::Present).unwrap_err();
    assert_eq!(missing.errno(), Some(ENOENT));
    let full = map.update(&key(3), &[3; 8], Expect::Any).unwrap_err();
    assert_eq!(full.errno(), Some(E2BIG));
    assert!(full.to_string().contains("bpf(MAP_UPDATE_ELEM) \"test\""), "{full}");

    let mut keys = map.keys().unwrap();
    keys.sort();
    assert_eq!(keys, [key(1), key(2)]);
    assert!(map.delete(&key(1)).unwrap());
    assert_eq!(map.lookup(&key(1)).unwrap(), None);
}

#[test]
fn slices_of_the_wrong_length_never_reach_the_kernel() {
    let map = made(MapKind::HASH, [4, 8, 2]);
    let table: [(&str, Error); 4] = [
        ("key has 3 bytes, it takes 4", map.lookup(&[0; 3]).unwrap_err()),
        ("key has 5 bytes, it takes 4", map.delete(&[0; 5]).unwrap_err()),
        ("value has 7 bytes", map.update(&key(0), &[0; 7], Expect::Any).unwrap_err()),
        ("key has 0 bytes", map.take(&[]).unwrap_err()),
    ];
    for (words, error) in table {
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn the_longest_prefix_wins() {
    let trie = made(MapKind::LPM_TRIE, [8, 4, 8]);
    let prefix = |bits: u32, address: [u8; 4]| [bits.to_ne_bytes(), address].concat();
    trie.update(&prefix(8, [10, 0, 0, 0]), &key(8), Expect::Any).unwrap();
    trie.update(&prefix(24, [10, 1, 2, 0]), &key(24), Expect::Any).unwrap();
    let table = [([10, 1, 2, 3], Some(24)), ([10, 9, 9, 9], Some(8)), ([11, 0, 0, 1], None)];
    for (address, expected) in table {
        let found = trie.lookup(&prefix(32, address)).unwrap();
        assert_eq!(found, expected.map(|bits| key(bits).to_vec()), "{address:?}");
    }
}

#[test]
fn queues_and_stacks_give_back_once() {
    for (kind, order) in [(MapKind::QUEUE, [1, 2]), (MapKind::STACK, [2, 1])] {
        let map = made(kind, [0, 4, 2]);
        map.update(&[], &key(1), Expect::Any).unwrap();
        map.update(&[], &key(2), Expect::Any).unwrap();
        assert_eq!(map.update(&[], &key(3), Expect::Any).unwrap_err().errno(), Some(E2BIG));
        for number in order {
            assert_eq!(map.take(&[]).unwrap(), Some(key(number).to_vec()), "{kind:?}");
        }
        assert_eq!(map.take(&[]).unwrap(), None);
    }
}

#[test]
fn batches_do_what_single_calls_do() {
    for (kind, count) in [(MapKind::HASH, 1500u32), (MapKind::ARRAY, 1500)] {
        let map = made(kind, [4, 8, count]);
        let elements: Vec<_> =
            (0..count).map(|n| (key(n).to_vec(), u64::from(n).to_ne_bytes().to_vec())).collect();
        map.update_all(&elements, Expect::Any).unwrap();
        let mut read = map.entries().unwrap();
        read.sort_by_key(|(key, _)| u32::from_ne_bytes(key[..].try_into().unwrap()));
        assert_eq!(read, elements, "{kind:?}");
    }
}

#[test]
fn parts_of_arrays_are_read_and_written_together() {
    let map = made(MapKind::ARRAY, [4, 8, 1000]);
    let value = |number: u32| u64::from(number).to_ne_bytes().to_vec();
    map.update_array(10, &(10..700).map(value).collect::<Vec<_>>()).unwrap();
    let read = |first, count| map.array_part(first, count).unwrap();
    assert_eq!(read(0, 1), [value(0)]);
    assert_eq!(read(0, 12)[9..], [value(0), value(10), value(11)]);
    assert_eq!(read(10, 690), (10..700).map(value).collect::<Vec<_>>());
    assert_eq!(read(699, 2), [value(699), value(0)]);
    assert_eq!(read(998, 5).len(), 2, "up to its end");
    assert_eq!((read(1000, 5).len(), read(0, 0).len()), (0, 0));
    assert_eq!(map.keys().unwrap(), (0..1000).map(|n| key(n).to_vec()).collect::<Vec<_>>());
    let error = map.update_array(999, &[value(1), value(2)]).unwrap_err().to_string();
    assert!(error.contains("1 of 2"), "{error}");
}

#[test]
fn kinds_without_batches_are_walked_one_by_one() {
    let outer = object(
        vec![MapDef {
            inner: Some(Box::new(map("inner", MapKind::HASH, [4, 4, 4]))),
            ..map("outer", MapKind::ARRAY_OF_MAPS, [4, 4, 4])
        }],
        vec![],
    );
    let object = load(&outer);
    let outer = object.map("outer").unwrap();
    let inner = made(MapKind::HASH, [4, 4, 4]);
    outer.put_map(&key(2), &inner).unwrap();
    let entries = outer.entries().unwrap();
    assert_eq!(entries, [(key(2).to_vec(), inner.id().to_ne_bytes().to_vec())]);
}

#[test]
fn a_batch_that_does_not_fit_reports_its_progress() {
    let map = made(MapKind::HASH, [4, 4, 10]);
    let elements: Vec<_> = (0..20).map(|n| (key(n).to_vec(), key(n).to_vec())).collect();
    match map.update_all(&elements, Expect::Any).unwrap_err() {
        Error::PartialUpdate { done: 10, wanted: 20, source, .. } => {
            assert_eq!(source.errno, E2BIG)
        }
        other => panic!("{other}"),
    }
    assert_eq!(map.keys().unwrap().len(), 10);
    let keys: Vec<_> = (5..20).map(|n| key(n).to_vec()).collect();
    assert_eq!(map.delete_all(&keys).unwrap(), 5, "absent keys are passed over");
    assert_eq!(map.drain().unwrap().len(), 5);
    assert_eq!(map.drain().unwrap(), []);
}

#[test]
fn per_cpu_values_are_distinguished() {
    let cpus = sys::cpu::possible().unwrap();
    let map = made(MapKind::PERCPU_HASH, [4, 12, 2]);
    assert_eq!(map.value_size(), 16 * cpus);
    assert_eq!(map.lookup_per_cpu(&key(1)).unwrap(), None);
    map.update(&key(1), &PerCpu::repeat(&[7; 12], cpus).into_bytes(), Expect::Any).unwrap();
    let values = map.lookup_per_cpu(&key(1)).unwrap().unwrap();
    assert!(values.values().all(|value| value == [7; 12]));
    assert_eq!(values.values().len(), cpus);
    assert!(made(MapKind::HASH, [4, 4, 1]).lookup_per_cpu(&key(1)).is_err());
}

#[test]
fn frozen_maps_are_read_only_for_ever() {
    let map = made(MapKind::ARRAY, [4, 4, 1]);
    map.update(&key(0), &key(5), Expect::Any).unwrap();
    map.freeze().unwrap();
    assert_eq!(map.update(&key(0), &key(6), Expect::Any).unwrap_err().errno(), Some(EPERM));
    assert_eq!(map.lookup(&key(0)).unwrap(), Some(key(5).to_vec()));
}

#[test]
fn data_sections_are_filled_and_sealed() {
    let rodata = MapDef {
        contents: Some(vec![1, 2, 3, 4]),
        frozen: true,
        flags: 1 << 7,
        ..map(".rodata", MapKind::ARRAY, [4, 4, 1])
    };
    let data = MapDef { contents: Some(vec![9; 8]), ..map(".data", MapKind::ARRAY, [4, 8, 1]) };
    let object = load(&object(vec![rodata, data], vec![]));
    let (rodata, data) = (object.map(".rodata").unwrap(), object.map(".data").unwrap());
    assert_eq!(rodata.info().name, "test.rodata");
    assert_eq!(rodata.lookup(&key(0)).unwrap(), Some(vec![1, 2, 3, 4]));
    assert!(rodata.update(&key(0), &[0; 4], Expect::Any).is_err());
    data.update(&key(0), &[8; 8], Expect::Any).unwrap();
}

#[test]
fn pinned_maps_are_shared_with_the_next_load_and_checked() {
    let folder = PinFolder::new("maps");
    let options = || LoadOptions { pin_root: Some(folder.path("")), ..Default::default() };
    let spec = |value_size| {
        let shared = map("state", MapKind::HASH, [4, value_size, 8]);
        object(vec![MapDef { pin_by_name: true, ..shared }], vec![])
    };
    let first = Object::load(&spec(4), &options()).unwrap();
    first.map("state").unwrap().update(&key(1), &key(11), Expect::Any).unwrap();
    let id = first.map("state").unwrap().id();
    drop(first);

    let second = Object::load(&spec(4), &options()).unwrap();
    assert_eq!(second.map("state").unwrap().id(), id);
    assert_eq!(second.map("state").unwrap().lookup(&key(1)).unwrap(), Some(key(11).to_vec()));

    match Object::load(&spec(8), &options()).unwrap_err() {
        Error::Incompatible { what: "value size", found: 4, wanted: 8, .. } => {}
        other => panic!("{other}"),
    }
    Map::unpin(&folder.path("state")).unwrap();
    assert_eq!(Map::from_pin(&folder.path("state")).unwrap_err().errno(), Some(ENOENT));
}

#[test]
fn a_pin_of_another_object_is_not_a_map() {
    let folder = PinFolder::new("wrong");
    let program = program::constant_program("pass", Verdict::Pass);
    program.pin(&folder.path("it")).unwrap();
    let error = Map::from_pin(&folder.path("it")).unwrap_err();
    assert!(matches!(error, Error::WrongPin { wanted: "map", .. }), "{error}");
    assert_eq!(program.pin(&folder.path("it")).unwrap_err().errno(), Some(EEXIST));
    assert_eq!(kernel::Program::from_pin(&folder.path("it")).unwrap().id(), program.id());
}

#[test]
fn given_maps_are_used_instead_of_new_ones() {
    let spec = object(vec![seen()], vec![counting("count", Verdict::Drop)]);
    let first = load(&spec);
    let given = first.map("seen").unwrap().duplicate().unwrap();
    let id = given.id();
    let options = LoadOptions { reuse: vec![("seen".to_owned(), given)], ..Default::default() };
    let second = Object::load(&spec, &options).unwrap();
    assert_eq!(second.map("seen").unwrap().id(), id);
    assert!(second.program("count").unwrap().info().unwrap().map_ids.contains(&id));
}

#[test]
fn maps_that_hold_maps_and_programs_are_filled_by_the_object() {
    let inner = map("inner", MapKind::ARRAY, [4, 4, 1]);
    let outer = MapDef {
        inner: Some(Box::new(inner.clone())),
        initial: vec![Initial::Map { index: 1, map: 0 }],
        ..map("outer", MapKind::ARRAY_OF_MAPS, [4, 4, 2])
    };
    let calls = MapDef {
        initial: vec![Initial::Program { index: 3, program: 0 }],
        ..map("calls", MapKind::PROG_ARRAY, [4, 4, 4])
    };
    let object = load(&object(vec![inner, outer, calls], vec![constant("target", Verdict::Drop)]));
    let id_in = |name: &str, at| {
        let value = object.map(name).unwrap().lookup(&key(at)).unwrap()?;
        Some(u32::from_ne_bytes(value.try_into().unwrap()))
    };
    assert_eq!(id_in("outer", 1), Some(object.map("inner").unwrap().id()));
    assert_eq!(id_in("calls", 3), Some(object.program("target").unwrap().id()));
    assert_eq!(id_in("calls", 0), None);
}

#[test]
fn devices_and_processors_are_put_with_their_programs() {
    let devices = map("devices", MapKind::DEVMAP_HASH, [4, 8, 4]);
    let cpus = map("cpus", MapKind::CPUMAP, [4, 8, 1]);
    let narrow = map("narrow", MapKind::DEVMAP, [4, 4, 4]);
    let object = load(&object(vec![devices, cpus, narrow], vec![]));
    let lo = sys::net::Ifindex(1);
    object.map("devices").unwrap().put_device(5, lo, None).unwrap();
    let value = object.map("devices").unwrap().lookup(&key(5)).unwrap().unwrap();
    assert_eq!(value[..4], key(1));
    object.map("narrow").unwrap().put_device(0, lo, None).unwrap();
    object.map("cpus").unwrap().put_cpu(0, 192, None).unwrap();
    let program = program::constant_program("pass", Verdict::Pass);
    let error = object.map("narrow").unwrap().put_device(1, lo, Some(&program)).unwrap_err();
    assert!(error.to_string().contains("eight bytes"), "{error}");
}
