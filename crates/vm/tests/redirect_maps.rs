//! Maps whose values refer to something: what user space may put into them. The numbers are the
//! kernel's, with which `tests/` compares them at length.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::asm::{Assembler, Object};
use spec::{MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::world::Interface;
use vm::{Errno, Machine, Options, World};

/// Programs by id: 1 to 4.
const PROGRAMS: [(&str, ProgramKind); 4] = [
    ("plain", ProgramKind::XDP),
    ("device", ProgramKind::XDP_DEVMAP),
    ("processor", ProgramKind::XDP_CPUMAP),
    ("frags", ProgramKind { flags: 1 << 5, ..ProgramKind::XDP_DEVMAP }),
];

const MAPS: [(&str, MapKind, u32); 7] = [
    ("programs", MapKind::PROG_ARRAY, 4),
    ("devices", MapKind::DEVMAP, 8),
    ("hash", MapKind::DEVMAP_HASH, 8),
    ("processors", MapKind::CPUMAP, 8),
    ("sockets", MapKind::XSKMAP, 4),
    ("maps", MapKind::HASH_OF_MAPS, 4),
    ("inner", MapKind::ARRAY, 4),
];

fn def(name: &str, kind: MapKind, value_size: u32) -> MapDef {
    let name = name.to_owned();
    MapDef { name, kind, key_size: 4, value_size, max_entries: 2, ..MapDef::default() }
}

fn object() -> Spec {
    let mut object = Object::new("redirects.o", "GPL");
    for (name, kind, value_size) in MAPS {
        let inner = kind.is_map_of_maps().then(|| Box::new(def("inner", MapKind::ARRAY, 4)));
        object.map(MapDef { inner, ..def(name, kind, value_size) });
    }
    for (name, kind) in PROGRAMS {
        let mut a = Assembler::new(name, kind);
        a.verdict(Verdict::Pass);
        object.program(a);
    }
    object.finish().unwrap()
}

/// A machine with interfaces 3 and 4, of two processors.
fn machine() -> Machine {
    let world = World::default()
        .with_interface(Interface::new(3, "eth3"))
        .with_interface(Interface::new(4, "eth4"));
    Machine::load(&object(), &Options { cpus: 2, world, ..Options::default() }).unwrap()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// What is written where, with which flags, and the answer.
type Write = (u32, &'static [u32], u64, Result<(), Errno>);

/// No program.
const NONE: u32 = u32::MAX;
const ANY: u64 = 0;
const NOEXIST: u64 = 1;
const EXIST: u64 = 2;

const TABLE: [(&str, &[Write]); 6] = [
    (
        "programs",
        &[
            (0, &[1], ANY, Ok(())),
            (1, &[2], ANY, Err(Errno::EINVAL)),
            (1, &[5], ANY, Err(Errno::EBADF)),
            (1, &[0], ANY, Err(Errno::EBADF)),
            (2, &[1], ANY, Err(Errno::E2BIG)),
            (1, &[1], EXIST, Err(Errno::EINVAL)),
        ],
    ),
    (
        "devices",
        &[
            (0, &[3, NONE], ANY, Ok(())),
            (1, &[4, 2], EXIST, Ok(())),
            (0, &[5, NONE], ANY, Err(Errno::EINVAL)),
            (0, &[3, 1], ANY, Err(Errno::EINVAL)),
            (0, &[3, 4], ANY, Err(Errno::EINVAL)),
            (0, &[0, 2], ANY, Err(Errno::EINVAL)),
            (0, &[3, NONE], NOEXIST, Err(Errno::EEXIST)),
            (0, &[3, NONE], 3, Err(Errno::EINVAL)),
            (2, &[3, NONE], ANY, Err(Errno::E2BIG)),
        ],
    ),
    (
        "hash",
        &[
            (77, &[3, 2], NOEXIST, Ok(())),
            (77, &[3, 2], NOEXIST, Err(Errno::EEXIST)),
            (78, &[4, NONE], EXIST, Ok(())),
            (79, &[4, NONE], ANY, Err(Errno::E2BIG)),
            (77, &[0, NONE], ANY, Err(Errno::EINVAL)),
            (77, &[5, NONE], ANY, Err(Errno::EINVAL)),
        ],
    ),
    (
        "processors",
        &[
            (0, &[16384, 3], ANY, Ok(())),
            (1, &[1, NONE], ANY, Ok(())),
            (1, &[16385, NONE], ANY, Err(Errno::EOVERFLOW)),
            (1, &[1, 2], ANY, Err(Errno::ENOMEM)),
            (1, &[1, NONE], NOEXIST, Err(Errno::EEXIST)),
            (2, &[1, NONE], ANY, Err(Errno::E2BIG)),
        ],
    ),
    (
        "sockets",
        &[
            (0, &[9], EXIST, Err(Errno::ENOENT)),
            (0, &[9], NOEXIST, Ok(())),
            (0, &[8], NOEXIST, Err(Errno::EEXIST)),
            (2, &[9], ANY, Err(Errno::E2BIG)),
        ],
    ),
    (
        "maps",
        &[
            (5, &[7], NOEXIST, Ok(())),
            (5, &[7], NOEXIST, Err(Errno::EEXIST)),
            (6, &[7], EXIST, Err(Errno::ENOENT)),
            (6, &[2], ANY, Err(Errno::EINVAL)),
            (6, &[8], ANY, Err(Errno::EBADF)),
            (6, &[7], ANY, Ok(())),
            (7, &[7], ANY, Err(Errno::E2BIG)),
        ],
    ),
];

#[test]
fn what_may_be_written_is_written() {
    for (name, writes) in TABLE {
        let machine = machine();
        let map = machine.map(name).unwrap();
        for (key, value, flags, answer) in writes {
            let key = key.to_ne_bytes();
            assert_eq!(map.write(&key, &bytes(value), *flags), *answer, "{name} {value:?} {flags}");
        }
    }
}

#[test]
fn what_was_written_is_read_and_removed() {
    let machine = machine();
    let table: [(&str, u32, &[u32], &[u32]); 6] = [
        ("programs", 1, &[1], &[1]),
        ("devices", 1, &[3, NONE], &[3, 0]),
        ("devices", 0, &[4, 2], &[4, 2]),
        ("hash", 99, &[4, 2], &[4, 2]),
        ("processors", 1, &[192, 3], &[192, 3]),
        ("maps", 8, &[7], &[7]),
    ];
    for (name, key, written, read) in table {
        let (map, key) = (machine.map(name).unwrap(), key.to_ne_bytes());
        assert_eq!(map.read(&key), Err(Errno::ENOENT), "{name}");
        map.write(&key, &bytes(written), ANY).unwrap();
        assert_eq!(map.read(&key), Ok(bytes(read)), "{name}");
        map.remove(&key).unwrap();
        assert_eq!(map.read(&key), Err(Errno::ENOENT), "{name}");
    }
    let sockets = machine.map("sockets").unwrap();
    assert_eq!(sockets.read(&[0; 4]), Err(Errno::EOPNOTSUPP));
}

#[test]
fn an_empty_interface_or_queue_removes() {
    let machine = machine();
    for (name, full) in [("devices", [3, NONE]), ("processors", [8, NONE])] {
        let map = machine.map(name).unwrap();
        map.write(&[0; 4], &bytes(&full), ANY).unwrap();
        map.write(&[0; 4], &bytes(&[0, NONE]), ANY).unwrap();
        assert_eq!(map.read(&[0; 4]), Err(Errno::ENOENT), "{name}");
    }
}

#[test]
fn maps_made_later_go_into_maps_of_maps() {
    let machine = machine();
    let outer = machine.map("maps").unwrap();
    let like = machine.create_map(&def("later", MapKind::ARRAY, 4)).unwrap();
    let other = machine.create_map(&def("other", MapKind::ARRAY, 8)).unwrap();
    let put = |map: &vm::Map| outer.write(&[1; 4], &bytes(&[map.attributes().number + 1]), ANY);
    assert_eq!(put(&like), Ok(()));
    assert_eq!(put(&other), Err(Errno::EINVAL));
    assert_eq!(outer.read(&[1; 4]), Ok(bytes(&[MAPS.len() as u32 + 1])));
}

#[test]
fn unsupported_types_are_refused_with_a_reason() {
    let machine = machine();
    for (kind, words) in [
        (15, "sockmaps and sockhashes steer bytes between sockets"),
        (21, "control groups"),
        (24, "socket storage belongs to sockets"),
        (26, "struct_ops"),
        (33, "an arena is memory shared with a process"),
        (99, "unknown map type"),
    ] {
        let error = machine.create_map(&def("odd", MapKind(kind), 4)).unwrap_err().to_string();
        assert!(error.starts_with("map `odd`: ") && error.contains(words), "{error}");
    }
}
