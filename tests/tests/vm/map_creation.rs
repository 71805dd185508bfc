//! Creating maps, kernel against engine: the same shapes and flags are refused with the same
//! error number, for every type that is not a plain table.

use std::os::fd::AsFd;

use spec::{MapDef, MapKind, Spec};
use sys::bpf::{self, MapCreate};
use vm::{Error, Machine, Options};

/// Plain tables, whose reasons for a refusal are compared too.
const TABLES: &[MapKind] = &[
    MapKind::HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::LPM_TRIE,
];

/// Types, each with a shape (bytes of key and value, elements) that it takes.
const GOOD: &[(MapKind, [u32; 3])] = &[
    (MapKind::PROG_ARRAY, [4, 4, 2]),
    (MapKind::PERF_EVENT_ARRAY, [4, 4, 2]),
    (MapKind::ARRAY_OF_MAPS, [4, 4, 2]),
    (MapKind::HASH_OF_MAPS, [8, 4, 2]),
    (MapKind::DEVMAP, [4, 8, 2]),
    (MapKind::DEVMAP_HASH, [4, 8, 2]),
    (MapKind::CPUMAP, [4, 8, 2]),
    (MapKind::XSKMAP, [4, 4, 2]),
    (MapKind::QUEUE, [0, 8, 2]),
    (MapKind::STACK, [0, 8, 2]),
    (MapKind::BLOOM_FILTER, [0, 8, 2]),
    (MapKind::RINGBUF, [0, 0, 4096]),
    (MapKind::USER_RINGBUF, [0, 0, 4096]),
];

/// Both arms, with what inner maps look like.
struct Arms {
    machine: Machine,
    template: MapDef,
}

impl Arms {
    fn new() -> Self {
        let cpus = u32::try_from(sys::cpu::possible().unwrap()).unwrap();
        let options = Options { cpus, ..Options::default() };
        let machine = Machine::load(&Spec::default(), &options).unwrap();
        let template = def(MapKind::HASH, [4, 4, 4]);
        Self { machine, template }
    }

    /// The error number that each arm gives, 0 for none.
    fn create(&self, def: &MapDef) -> (i32, i32) {
        (self.in_kernel(def), self.in_engine(def))
    }

    fn in_engine(&self, def: &MapDef) -> i32 {
        match self.machine.create_map(def) {
            Ok(_) => 0,
            Err(Error::Map { errno, .. }) => errno.0,
            Err(other) => panic!("{other}"),
        }
    }

    fn in_kernel(&self, def: &MapDef) -> i32 {
        let inner = def.inner.as_ref().map(|inner| raw(inner, None));
        let inner = match &inner {
            Some(Ok(inner)) => Some(inner.as_fd()),
            Some(Err(errno)) => return *errno,
            None => None,
        };
        raw(def, inner).map_or_else(|errno| errno, |_| 0)
    }

    fn check(&self, def: &MapDef) {
        let inner = def.kind.is_map_of_maps().then(|| Box::new(self.template.clone()));
        let def = MapDef { inner: def.inner.clone().or(inner), ..def.clone() };
        let (kernel, engine) = self.create(&def);
        assert_eq!(engine, kernel, "{:?} {def:?}", def.kind.name());
        let reason = def.refusal();
        assert!(reason.is_none() || kernel != 0, "the kernel takes it, but: {reason:?} {def:?}");
    }
}

fn raw(def: &MapDef, inner: Option<std::os::fd::BorrowedFd<'_>>) -> Result<bpf::Map, i32> {
    let create = MapCreate {
        name: "test",
        kind: def.kind.0,
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        flags: def.flags,
        extra: def.extra,
        inner,
        ..MapCreate::default()
    };
    bpf::Map::create(&create).map_err(|error| error.errno)
}

fn def(kind: MapKind, [key_size, value_size, max_entries]: [u32; 3]) -> MapDef {
    let name = "test".to_owned();
    MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() }
}

#[test]
fn good_shapes_are_taken() {
    let arms = Arms::new();
    for (kind, shape) in GOOD {
        let inner = kind.is_map_of_maps().then(|| Box::new(arms.template.clone()));
        let def = MapDef { inner, ..def(*kind, *shape) };
        assert_eq!(arms.create(&def), (0, 0), "{:?}", kind.name());
        assert_eq!(def.refusal(), None, "{:?}", kind.name());
    }
}

#[test]
fn refusals_of_tables_have_a_reason() {
    let arms = Arms::new();
    let mut named = 0;
    for kind in TABLES {
        for (shape, flags) in [
            ([4, 8, 2], 0),
            ([4, 8, 2], 1),
            ([8, 8, 2], 1),
            ([0, 8, 2], 1),
            ([4, 0, 2], 0),
            ([4, 8, 0], 0),
            ([261, 8, 2], 1),
        ] {
            let def = MapDef { flags, ..def(*kind, shape) };
            let (kernel, reason) = (arms.in_kernel(&def), def.refusal());
            assert_eq!(reason.is_some(), kernel != 0, "{:?} {def:?} {reason:?}", kind.name());
            named += usize::from(reason.is_some());
        }
    }
    assert!(named > 20, "{named}");
}

#[test]
fn every_shape_is_answered_alike() {
    let arms = Arms::new();
    for (kind, _) in GOOD {
        for key in [0, 1, 4, 8, 512, 513] {
            for value in [0, 1, 4, 8, 12, 4096] {
                for entries in [0, 1, 3, 256, 257, 4096, 12288, 65536] {
                    arms.check(&def(*kind, [key, value, entries]));
                }
            }
        }
    }
}

#[test]
fn every_flag_is_answered_alike() {
    let arms = Arms::new();
    for (kind, shape) in GOOD {
        let single = (0..32).map(|bit| 1 << bit).filter(|flag| *flag != TOKEN && *flag != NUMA);
        for flags in single.chain([RDONLY | WRONLY, 3 << 7, RDONLY | 1 << 7, !TOKEN]) {
            arms.check(&MapDef { flags, ..def(*kind, *shape) });
        }
    }
}

#[test]
fn every_extra_number_is_answered_alike() {
    let arms = Arms::new();
    for (kind, shape) in GOOD {
        for extra in [1, 3, 15, 16, 1 << 32, u64::MAX] {
            arms.check(&MapDef { extra, ..def(*kind, *shape) });
        }
    }
}

#[test]
fn sizes_at_the_edge_are_answered_alike() {
    let arms = Arms::new();
    for def in [
        def(MapKind::QUEUE, [0, (4 << 20) + 1, 1]),
        def(MapKind::STACK, [0, (4 << 20) + 1, 1]),
        def(MapKind::BLOOM_FILTER, [0, (4 << 20) + 1, 1]),
        def(MapKind::BLOOM_FILTER, [1, (4 << 20) + 1, 1]),
        def(MapKind::BLOOM_FILTER, [0, 4, 1 << 20]),
        def(MapKind::DEVMAP_HASH, [4, 4, (1 << 31) + 1]),
        def(MapKind::CPUMAP, [4, 4, u32::MAX]),
    ] {
        arms.check(&def);
    }
}

#[test]
fn templates_are_answered_alike() {
    let arms = Arms::new();
    let good = GOOD.iter().map(|(kind, shape)| def(*kind, *shape));
    let tables = [MapKind::HASH, MapKind::ARRAY, MapKind::PERCPU_ARRAY, MapKind::LRU_HASH]
        .map(|kind| def(kind, [4, 8, 2]));
    for template in good.chain(tables).filter(|template| !template.kind.is_map_of_maps()) {
        for (kind, shape) in
            [(MapKind::ARRAY_OF_MAPS, [4, 4, 2]), (MapKind::HASH_OF_MAPS, [4, 4, 2])]
        {
            arms.check(&MapDef { inner: Some(Box::new(template.clone())), ..def(kind, shape) });
        }
    }
}

#[test]
fn other_types_are_refused_with_words() {
    let arms = Arms::new();
    for kind in [7, 8, 15, 18, 19, 20, 21, 24, 26, 28, 29, 32, 33, 34, 99] {
        let Err(error) = arms.machine.create_map(&def(MapKind(kind), [4, 4, 1])) else {
            panic!("type {kind} is made");
        };
        let words = error.to_string();
        assert!(words.starts_with("map `test`: ") && words.len() > 60, "{words}");
    }
}

/// Flags that ask for another argument.
const NUMA: u32 = 1 << 2;
const TOKEN: u32 = 1 << 16;
const RDONLY: u32 = 1 << 3;
const WRONLY: u32 = 1 << 4;

/// What a loader adjusts: entries of perf event arrays and bytes of ring buffers.
#[test]
fn both_loaders_adjust_sizes_alike() {
    let maps = [
        (MapKind::PERF_EVENT_ARRAY, [4, 4, 0]),
        (MapKind::PERF_EVENT_ARRAY, [4, 4, 1]),
        (MapKind::RINGBUF, [0, 0, 1]),
        (MapKind::RINGBUF, [0, 0, 5000]),
        (MapKind::USER_RINGBUF, [0, 0, 12288]),
    ];
    let maps = maps.iter().zip(0..).map(|((kind, shape), number)| {
        let name = format!("m{number}");
        MapDef { name, ..def(*kind, *shape) }
    });
    let spec = Spec { maps: maps.collect(), license: "GPL".to_owned(), ..Spec::default() };
    let kernel = kernel::Object::load(&spec, &kernel::LoadOptions::default()).unwrap();
    let cpus = u32::try_from(sys::cpu::possible().unwrap()).unwrap();
    let engine = Machine::load(&spec, &Options { cpus, ..Options::default() }).unwrap();
    for def in &spec.maps {
        let theirs = kernel.map(&def.name).unwrap().max_entries();
        let ours = engine.map(&def.name).unwrap().attributes().max_entries;
        assert_eq!(ours, theirs, "{def:?}");
    }
}
