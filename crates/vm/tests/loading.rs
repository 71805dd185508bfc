//! Which maps of an object are created, and with how many entries.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::asm::Reg::R1;
use spec::asm::{Assembler, Object};
use spec::{MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::{Machine, Options};

fn map(name: &str, kind: MapKind, [key_size, value_size, max_entries]: [u32; 3]) -> MapDef {
    let name = name.to_owned();
    MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() }
}

/// `plain` uses the array, `special` the arena, which the engine does not support.
fn object() -> Spec {
    let mut object = Object::new("two.o", "GPL");
    object.map(map("arena", MapKind::ARENA, [0, 0, 100]));
    object.map(map("array", MapKind::ARRAY, [4, 8, 1]));
    for (name, used) in [("plain", "array"), ("special", "arena")] {
        let mut a = Assembler::new(name, ProgramKind::XDP);
        a.load_map(R1, used).verdict(Verdict::Pass);
        object.program(a);
    }
    object.finish().unwrap()
}

fn load(names: Option<&[&str]>) -> Result<Machine, vm::Error> {
    let programs = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    Machine::load(&object(), &Options { programs, ..Options::default() })
}

#[test]
fn maps_that_no_chosen_program_uses_need_not_be_created() {
    let machine = load(Some(&["plain"])).unwrap();
    let array = machine.map("array").unwrap();
    assert_eq!(array.attributes().number, 1, "numbers are places in the object");
    let error = machine.map("arena").unwrap_err().to_string();
    assert!(error.contains("no loaded program uses it, and"), "{error}");
    for names in [None, Some(&["special"][..]), Some(&["plain", "special"])] {
        let error = load(names).unwrap_err().to_string();
        assert!(error.contains("map `arena`"), "{names:?}: {error}");
    }
}

#[test]
fn numbers_of_entries_are_those_of_the_kernel_loader() {
    let rows = [
        (MapKind::PERF_EVENT_ARRAY, [4, 4, 0], 3),
        (MapKind::PERF_EVENT_ARRAY, [4, 4, 2], 2),
        (MapKind::RINGBUF, [0, 0, 0], 4096),
        (MapKind::RINGBUF, [0, 0, 5000], 8192),
        (MapKind::USER_RINGBUF, [0, 0, 3 * 4096], 4 * 4096),
        (MapKind::ARRAY, [4, 8, 5], 5),
    ];
    for (kind, shape, expected) in rows {
        let spec = Spec { maps: vec![map("m", kind, shape)], ..Spec::default() };
        let machine = Machine::load(&spec, &Options { cpus: 3, ..Options::default() }).unwrap();
        let map = machine.map("m").unwrap();
        assert_eq!(map.attributes().max_entries, expected, "{:?} {shape:?}", kind.name());
    }
}
