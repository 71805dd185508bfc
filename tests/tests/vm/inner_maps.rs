//! Maps of maps as programs see them, kernel against engine: maps put in before and after
//! loading, and which maps fit the template; and which programs a map that holds some admits.

use std::sync::Arc;

use kernel::MapCreate;
use spec::asm::{Assembler, Cond, Helper, Reg::*};
use spec::{Expect, Initial, Map as _, MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::Machine;
use xway_tests::vm_io::{Both, Numbers, Writing, map, object, word};

/// Adds 1 to the first value of the map in `outer` at word 0 of the arguments: answers the value
/// before, 1000 without a map, 2000 without a value.
fn count(outer: &str) -> Assembler {
    let mut writing = Writing::begin(&format!("count_{outer}"));
    let a = &mut writing.a;
    let (no_map, no_value, done) = (a.label(), a.label(), a.label());
    a.load64(R1, word(0)).store32(R10.at(-8), R1).store32(R10.at(-4), 0);
    a.lookup(outer, R10.at(-8)).jump_if(R0, Cond::Eq, 0, no_map);
    a.mov(R1, R0).mov(R2, R10).add(R2, -4).call(Helper::MAP_LOOKUP_ELEM);
    a.jump_if(R0, Cond::Eq, 0, no_value).load64(R1, R0.at(0)).store64(word(4), R1);
    a.add(R1, 1).store64(R0.at(0), R1).jump(done);
    a.bind(no_map).store64(word(4), 1000).jump(done);
    a.bind(no_value).store64(word(4), 2000).bind(done);
    writing.end()
}

fn inner(name: &str) -> MapDef {
    map(name, MapKind::HASH, [4, 8, 2])
}

fn spec() -> Spec {
    let outer = |name, kind| MapDef {
        inner: Some(Box::new(inner("template"))),
        initial: vec![Initial::Map { index: 1, map: 2 }],
        ..map(name, kind, [4, 4, 4])
    };
    let outers = [outer("array", MapKind::ARRAY_OF_MAPS), outer("hash", MapKind::HASH_OF_MAPS)];
    // `io` and `bytes` come first.
    let maps = [vec![inner("first")], outers.to_vec()].concat();
    object(maps, vec![count("array"), count("hash")])
}

/// A map made while programs run, with a value or without.
struct Made {
    kernel: kernel::Map,
    engine: Arc<vm::Map>,
}

impl Made {
    fn new(machine: &Machine, filled: bool) -> Self {
        let def = inner("made");
        let create = MapCreate {
            name: "made",
            kind: def.kind.0,
            key_size: def.key_size,
            value_size: def.value_size,
            max_entries: def.max_entries,
            ..MapCreate::default()
        };
        let kernel = kernel::Map::create(&create).unwrap();
        let engine = machine.create_map(&def).unwrap();
        if filled {
            kernel.update(&[0; 4], &[9, 0, 0, 0, 0, 0, 0, 0], Expect::Any).unwrap();
            engine.update(&[0; 4], &[9, 0, 0, 0, 0, 0, 0, 0], Expect::Any).unwrap();
        }
        Self { kernel, engine }
    }

    fn put(&self, both: &Both, outer: &str, key: u32) {
        let key = key.to_ne_bytes();
        both.kernel.object().unwrap().map(outer).unwrap().put_map(&key, &self.kernel).unwrap();
        let id = self.engine.attributes().number + 1;
        let outer = both.engine.machine().unwrap().map(outer).unwrap();
        outer.update(&key, &id.to_ne_bytes(), Expect::Any).unwrap();
    }
}

#[test]
fn programs_reach_maps_that_come_and_go() {
    let mut both = Both::load(&spec());
    let machine = both.engine.machine().unwrap().clone();
    let mut numbers = Numbers(17);
    let mut made = Vec::new();
    for round in 0..400 {
        let outer = numbers.pick(&["array", "hash"]);
        let key = numbers.below(5) as u32;
        match numbers.below(6) {
            0 if made.len() < 20 => made.push(Made::new(&machine, round % 3 > 0)),
            1 if !made.is_empty() && key < 4 => {
                made[numbers.below(made.len() as u64) as usize].put(&both, outer, key);
            }
            2 if key < 4 => {
                let key = key.to_ne_bytes();
                let kernel = both.kernel.object().unwrap().map(outer).unwrap().delete(&key);
                assert_eq!(machine.map(outer).unwrap().delete(&key).unwrap(), kernel.unwrap());
            }
            _ => _ = both.run(&format!("count_{outer}"), &[key.into()]),
        }
    }
    for map in &made {
        let kernel = map.kernel.lookup(&[0; 4]).unwrap();
        assert_eq!(map.engine.lookup(&[0; 4]).unwrap(), kernel);
    }
}

/// Shapes beside the template's: what differs, and whether it may.
#[test]
fn only_maps_like_the_template_fit() {
    let templates = [
        map("t", MapKind::HASH, [4, 8, 2]),
        map("t", MapKind::ARRAY, [4, 8, 2]),
        MapDef { flags: INNER_MAP, ..map("t", MapKind::ARRAY, [4, 8, 2]) },
        map("t", MapKind::PERCPU_ARRAY, [4, 8, 2]),
        map("t", MapKind::QUEUE, [0, 8, 2]),
        map("t", MapKind::BLOOM_FILTER, [0, 8, 2]),
        map("t", MapKind::XSKMAP, [4, 4, 2]),
        map("t", MapKind::DEVMAP, [4, 4, 2]),
        map("t", MapKind::CPUMAP, [4, 4, 2]),
        map("t", MapKind::RINGBUF, [0, 0, 4096]),
    ];
    for template in &templates {
        let outer = MapDef {
            inner: Some(Box::new(template.clone())),
            ..map("outer", MapKind::ARRAY_OF_MAPS, [4, 4, 4])
        };
        let both = Both::load(&object(vec![outer], vec![]));
        let machine = both.engine.machine().unwrap();
        let like = |change: &dyn Fn(&mut MapDef)| {
            let mut def = template.clone();
            change(&mut def);
            def
        };
        let changed = [
            like(&|_| ()),
            like(&|def| def.max_entries *= 2),
            like(&|def| def.value_size *= 2),
            like(&|def| def.flags ^= 1 << 2),
            like(&|def| def.flags ^= INNER_MAP),
            like(&|def| def.flags ^= 1 << 7),
        ];
        for def in changed.iter().chain(&templates) {
            let create = MapCreate {
                name: "t",
                kind: def.kind.0,
                key_size: def.key_size,
                value_size: def.value_size,
                max_entries: def.max_entries,
                flags: def.flags,
                ..MapCreate::default()
            };
            let (Ok(kernel), Ok(engine)) = (kernel::Map::create(&create), machine.create_map(def))
            else {
                continue;
            };
            let outer = both.kernel.object().unwrap().map("outer").unwrap();
            let put = outer.put_map(&[0; 4], &kernel).map_err(|error| error.errno().unwrap());
            let id = (engine.attributes().number + 1).to_ne_bytes();
            let outer = machine.map("outer").unwrap();
            let written = outer.write(&[0; 4], &id, 0).map_err(|errno| errno.0);
            assert_eq!(written, put, "{template:?} holds {def:?}");
        }
    }
}

/// Programs of two kinds that use one map that holds programs: whether the object loads.
#[test]
fn a_map_of_programs_binds_itself_to_the_first() {
    let kinds = [
        ProgramKind::XDP,
        ProgramKind::XDP_FRAGS,
        ProgramKind::XDP_DEVMAP,
        ProgramKind { flags: ProgramKind::XDP_FRAGS.flags, ..ProgramKind::XDP_CPUMAP },
    ];
    let maps = [
        map("held", MapKind::PROG_ARRAY, [4, 4, 2]),
        map("held", MapKind::DEVMAP, [4, 8, 2]),
        map("held", MapKind::DEVMAP_HASH, [4, 8, 2]),
        map("held", MapKind::CPUMAP, [4, 8, 2]),
        map("held", MapKind::XSKMAP, [4, 4, 2]),
    ];
    for held in &maps {
        for (first, second) in kinds.iter().flat_map(|a| kinds.iter().map(move |b| (*a, *b))) {
            let uses = |name: &str, kind| {
                let mut a = Assembler::new(name, kind);
                match held.kind {
                    MapKind::PROG_ARRAY => {
                        a.load_map(R2, "held").mov(R3, 0).call(Helper::TAIL_CALL)
                    }
                    _ => a.load_map(R1, "held").mov(R2, 0).mov(R3, 0).call(Helper::REDIRECT_MAP),
                };
                a.verdict(Verdict::Pass);
                a
            };
            let spec = object(vec![held.clone()], vec![uses("a", first), uses("b", second)]);
            let kernel = kernel::Object::load(&spec, &kernel::LoadOptions::default()).is_ok();
            let engine = Machine::load(&spec, &vm::Options::default()).is_ok();
            assert_eq!(engine, kernel, "{:?}: {first:?}, then {second:?}", held.kind.name());
        }
    }
}

const INNER_MAP: u32 = 1 << 12;
