//! Maps of programs, maps and destinations from user space, kernel against engine: a long walk of
//! reads, writes and removals, whose every answer must be the same.
//!
//! A value's words name interfaces, programs and maps by their place in the object; each arm has
//! its own numbers for them.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use kernel::{LoadOptions, Object};
use lab::{LinkOptions, TwoHosts};
use spec::asm::{self, Assembler};
use spec::{MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::{Machine, Options, World};

/// A word of a value.
#[derive(Clone, Copy, Debug)]
enum Word {
    Number(u32),
    Program(usize),
    Map(usize),
}

use Word::{Map, Number, Program};
use sys::errno::ENOENT;

/// What is done to a map.
#[derive(Clone, Debug)]
enum Act {
    Read,
    Write(Vec<Word>, u64),
    Remove,
    Next,
    Take,
}

type Answer = Result<Vec<u8>, i32>;

// ---- the object -----------------------------------------------------------------------------

const PROGRAMS: [(&str, ProgramKind); 6] = [
    ("plain", ProgramKind::XDP),
    ("frags", ProgramKind::XDP_FRAGS),
    ("device", ProgramKind::XDP_DEVMAP),
    ("device_frags", ProgramKind { flags: 1 << 5, ..ProgramKind::XDP_DEVMAP }),
    ("processor", ProgramKind::XDP_CPUMAP),
    ("processor_frags", ProgramKind { flags: 1 << 5, ..ProgramKind::XDP_CPUMAP }),
];

const MAPS: [(&str, MapKind, [u32; 3]); 18] = [
    ("programs", MapKind::PROG_ARRAY, [4, 4, 3]),
    ("devices", MapKind::DEVMAP, [4, 8, 3]),
    ("bare_devices", MapKind::DEVMAP, [4, 4, 3]),
    ("device_hash", MapKind::DEVMAP_HASH, [4, 8, 3]),
    ("bare_device_hash", MapKind::DEVMAP_HASH, [4, 4, 3]),
    ("processors", MapKind::CPUMAP, [4, 8, 3]),
    ("bare_processors", MapKind::CPUMAP, [4, 4, 3]),
    ("sockets", MapKind::XSKMAP, [4, 4, 3]),
    ("arrays", MapKind::ARRAY_OF_MAPS, [4, 4, 3]),
    ("hashes", MapKind::HASH_OF_MAPS, [4, 4, 3]),
    ("events", MapKind::PERF_EVENT_ARRAY, [4, 4, 3]),
    ("ring", MapKind::RINGBUF, [0, 0, 4096]),
    ("user_ring", MapKind::USER_RINGBUF, [0, 0, 4096]),
    ("queue", MapKind::QUEUE, [0, 4, 3]),
    ("stack", MapKind::STACK, [0, 4, 3]),
    ("bloom", MapKind::BLOOM_FILTER, [0, 4, 3]),
    // What fits into `arrays` and `hashes`, and what does not.
    ("inner", MapKind::ARRAY, [4, 8, 4]),
    ("longer", MapKind::ARRAY, [4, 8, 5]),
];
const INNER: usize = 16;
const LONGER: usize = 17;

fn map(name: &str, kind: MapKind, [key_size, value_size, max_entries]: [u32; 3]) -> MapDef {
    let name = name.to_owned();
    MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() }
}

fn object() -> Spec {
    let mut object = asm::Object::new("maps.o", "Dual MIT/GPL");
    for (name, kind, shape) in MAPS {
        let template = |kind: MapKind| match kind {
            MapKind::ARRAY_OF_MAPS => Some(map("t", MapKind::ARRAY, [4, 8, 4])),
            MapKind::HASH_OF_MAPS => Some(map("t", MapKind::ARRAY, [4, 8, 5])),
            _ => None,
        };
        // Without a seed that is drawn, a bloom filter errs for the same values on both arms.
        let flags = if kind == MapKind::BLOOM_FILTER { ZERO_SEED } else { 0 };
        let inner = template(kind).map(Box::new);
        object.map(MapDef { inner, flags, ..map(name, kind, shape) });
    }
    for (name, kind) in PROGRAMS {
        let mut program = Assembler::new(name, kind);
        program.verdict(Verdict::Pass);
        object.program(program);
    }
    object.finish().unwrap()
}

// ---- the two arms ---------------------------------------------------------------------------

trait Arm {
    fn act(&self, map: usize, key: &[u8], act: &Act) -> Answer;
}

struct Kernel {
    object: Object,
    maps: Vec<sys::bpf::Map>,
}

impl Kernel {
    fn new(spec: &Spec) -> Self {
        let object = Object::load(spec, &LoadOptions::default()).unwrap();
        let open = |map: &kernel::Map| {
            sys::bpf::Map::from_fd(map.as_fd().try_clone_to_owned().unwrap()).unwrap()
        };
        let maps = object.maps().iter().map(open).collect();
        Self { object, maps }
    }

    fn word(&self, word: Word) -> u32 {
        match word {
            Number(number) => number,
            Program(program) => self.object.programs()[program].as_fd().as_raw_fd() as u32,
            Map(map) => self.maps[map].as_fd().as_raw_fd() as u32,
        }
    }

    /// A value that was read, with its id as the engine counts: a place in the object plus one.
    fn normalized(&self, map: usize, mut value: Vec<u8>) -> Vec<u8> {
        let (programs, maps) = (self.object.programs(), self.object.maps());
        let program = |id| programs.iter().position(|program| program.id() == id);
        let inner = |id| maps.iter().position(|map| map.id() == id);
        let (place, number): (usize, &dyn Fn(u32) -> Option<usize>) = match MAPS[map].1 {
            MapKind::PROG_ARRAY => (0, &program),
            MapKind::ARRAY_OF_MAPS | MapKind::HASH_OF_MAPS => (0, &inner),
            MapKind::DEVMAP | MapKind::DEVMAP_HASH | MapKind::CPUMAP => (4, &program),
            _ => return value,
        };
        if let Some(id) = value.get_mut(place..place + 4) {
            let number = number(u32::from_ne_bytes(id.try_into().unwrap()));
            id.copy_from_slice(&number.map_or(0, |number| number as u32 + 1).to_ne_bytes());
        }
        value
    }
}

impl Arm for Kernel {
    fn act(&self, map: usize, key: &[u8], act: &Act) -> Answer {
        let raw = &self.maps[map];
        let mut buffer =
            vec![0; if matches!(act, Act::Next) { raw.key_size() } else { raw.value_size() }];
        let found = match act {
            Act::Read => raw.lookup(key, &mut buffer, 0),
            Act::Remove => raw.delete(key),
            Act::Next => raw.next_key(Some(key).filter(|key| !key.is_empty()), &mut buffer),
            Act::Take => raw.take(key, &mut buffer),
            Act::Write(words, flags) => {
                let value: Vec<u8> =
                    words.iter().flat_map(|word| self.word(*word).to_ne_bytes()).collect();
                raw.update(key, &value, *flags).map(|()| true)
            }
        };
        match (found, act) {
            (Err(error), _) => Err(error.errno),
            (Ok(false), _) => Err(ENOENT),
            (Ok(true), Act::Read | Act::Take) => Ok(self.normalized(map, buffer)),
            (Ok(true), Act::Next) => Ok(buffer),
            (Ok(true), _) => Ok(Vec::new()),
        }
    }
}

struct Engine {
    maps: Vec<Arc<vm::Map>>,
    /// Who knows the programs and interfaces that values refer to.
    _machine: Machine,
}

impl Engine {
    fn new(spec: &Spec, interfaces: &[u32]) -> Self {
        let named = |world: World, index: &u32| {
            world.with_interface(vm::world::Interface::new(*index, format!("eth{index}")))
        };
        let world = interfaces.iter().fold(World::default(), named);
        let cpus = u32::try_from(sys::cpu::possible().unwrap()).unwrap();
        let options = Options { cpus, world, ..Options::default() };
        let machine = Machine::load(spec, &options).unwrap();
        Self { maps: machine.maps(), _machine: machine }
    }
}

impl Arm for Engine {
    fn act(&self, map: usize, key: &[u8], act: &Act) -> Answer {
        let map = &self.maps[map];
        let answer = match act {
            Act::Read => map.read(key),
            Act::Remove => map.remove(key).map(|()| Vec::new()),
            Act::Next => map.next_key(Some(key).filter(|key| !key.is_empty())),
            Act::Take => map.take(key, 0),
            Act::Write(words, flags) => {
                let number = |word: &Word| match *word {
                    Number(number) => number,
                    Program(place) | Map(place) => place as u32 + 1,
                };
                let value: Vec<u8> =
                    words.iter().flat_map(|word| number(word).to_ne_bytes()).collect();
                map.write(key, &value, *flags).map(|()| Vec::new())
            }
        };
        answer.map_err(|errno| errno.0)
    }
}

// ---- walks ----------------------------------------------------------------------------------

/// A repeatable stream of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Values that may be written to a map. Descriptors are not numbers, so that numbers are used only
/// where they are valid, or invalid on both arms.
fn value(numbers: &mut Numbers, map: usize, interfaces: &[u32]) -> Vec<Word> {
    const NONE: Word = Number(u32::MAX);
    let program = |numbers: &mut Numbers| match numbers.below(3) {
        0 => NONE,
        _ => Program(numbers.below(PROGRAMS.len())),
    };
    let (_, kind, [_, size, _]) = MAPS[map];
    let mut words = match kind {
        MapKind::PROG_ARRAY => vec![program(numbers)],
        MapKind::ARRAY_OF_MAPS | MapKind::HASH_OF_MAPS => {
            vec![numbers.pick(&[NONE, Map(INNER), Map(LONGER), Map(0), Map(13)])]
        }
        MapKind::DEVMAP | MapKind::DEVMAP_HASH => {
            let index = numbers.below(interfaces.len() + 2);
            let index = interfaces.get(index).copied().unwrap_or([0, 4_000_000][index % 2]);
            vec![Number(index), program(numbers)]
        }
        MapKind::CPUMAP => {
            vec![Number(numbers.pick(&[0, 1, 192, 16384, 16385])), program(numbers)]
        }
        _ => vec![Number(numbers.below(5) as u32)],
    };
    words.truncate(size as usize / 4);
    words
}

fn act(numbers: &mut Numbers, map: usize, interfaces: &[u32]) -> Act {
    match numbers.below(8) {
        0 | 1 => Act::Read,
        2 => Act::Remove,
        3 => Act::Next,
        4 => Act::Take,
        _ => {
            let flags = numbers.pick(&[0, 0, 0, 1, 2, 3, 4, 8, 1 << 32]);
            Act::Write(value(numbers, map, interfaces), flags)
        }
    }
}

/// Whether the arms may differ: elements of hashes come in no promised order, sockets and perf
/// buffers have no descriptors in the engine.
fn is_own_business(map: usize, act: &Act) -> bool {
    match MAPS[map].1 {
        MapKind::DEVMAP_HASH | MapKind::HASH_OF_MAPS => matches!(act, Act::Next),
        MapKind::XSKMAP => matches!(act, Act::Write(_, 0..=2)),
        MapKind::PERF_EVENT_ARRAY => matches!(act, Act::Write(_, 0)),
        _ => false,
    }
}

/// All keys of a map, by walking from each to the next.
fn keys(arm: &dyn Arm, map: usize) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    let mut last = ABSENT.to_ne_bytes().to_vec();
    while let Ok(next) = arm.act(map, &last, &Act::Next) {
        assert!(keys.insert(next.clone()), "{next:?} comes twice");
        last = next;
    }
    keys
}

fn walk(map: usize, seed: u64, steps: usize, arms: (&dyn Arm, &dyn Arm), interfaces: &[u32]) {
    let mut numbers = Numbers(seed);
    for step in 0..steps {
        let key = numbers.pick(&[0, 1, 2, 3, FAR]).to_ne_bytes();
        let key = &key[..MAPS[map].2[0] as usize];
        let act = act(&mut numbers, map, interfaces);
        if is_own_business(map, &act) {
            assert_eq!(keys(arms.0, map), keys(arms.1, map), "{} step {step}", MAPS[map].0);
            continue;
        }
        let (kernel, engine) = (arms.0.act(map, key, &act), arms.1.act(map, key, &act));
        let told = format!("{} seed {seed} step {step}: {act:?} at {key:?}", MAPS[map].0);
        assert_eq!(engine, kernel, "{told}");
    }
}

#[test]
fn every_answer_is_the_same() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let interfaces = [1, net.a.ifindex("eth0").unwrap().0];
    let spec = object();
    net.a
        .run(|| {
            for seed in 1..=3 {
                let (kernel, engine) = (Kernel::new(&spec), Engine::new(&spec, &interfaces));
                for map in 0..INNER {
                    walk(map, seed, 400, (&kernel, &engine), &interfaces);
                }
            }
        })
        .unwrap();
}

#[test]
fn a_world_without_interfaces_takes_any() {
    let engine = Engine::new(&object(), &[]);
    let write = |index| {
        let words = vec![Number(index), Number(0)];
        engine.act(1, &0_u32.to_ne_bytes(), &Act::Write(words, 0))
    };
    assert_eq!(write(77), Ok(Vec::new()));
    let named = Engine::new(&object(), &[3]);
    let words = vec![Number(77), Number(0)];
    assert_eq!(named.act(1, &0_u32.to_ne_bytes(), &Act::Write(words, 0)), Err(22));
}

const ZERO_SEED: u32 = 1 << 6;
/// A key that only hashes take, and one that is never written.
const FAR: u32 = 0xffff_fff0;
const ABSENT: u32 = 77;
