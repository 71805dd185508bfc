//! One map on both arms: what user space and programs see of it.

mod program;
pub mod special;

use std::sync::{Arc, OnceLock};

use kernel::KernelRuntime;
use spec::{MapDef, MapKind, Runtime as _, Spec};
use sys::bpf::{self, MapCreate};
use sys::errno::ENOENT;
use vm::{Error, Machine, Options, VmRuntime};

pub use program::{Call, Ran};

/// An operation of user space.
#[derive(Debug)]
pub enum User {
    Lookup(Vec<u8>, u64),
    Update(Vec<u8>, Vec<u8>, u64),
    Delete(Vec<u8>),
    Take(Vec<u8>),
    Next(Option<Vec<u8>>),
}

/// Bytes, where the operation yields some, or an error number.
type Answer = Result<Vec<u8>, i32>;

/// One map in the kernel and in the engine, with a program on each if requested.
pub struct Pair {
    kernel: bpf::Map,
    engine: Arc<vm::Map>,
    runtimes: Option<(KernelRuntime, VmRuntime)>,
    /// What knows the types of the engine's map.
    _machine: Option<Machine>,
}

impl Pair {
    pub fn new(def: &MapDef) -> Self {
        let kernel = in_kernel(def).unwrap();
        let engine = in_engine(def).unwrap();
        Self { kernel, engine, runtimes: None, _machine: None }
    }

    /// The map `m` of programs that work on it, see [`Call`].
    pub fn with_program(def: &MapDef) -> Self {
        let spec = program::spec(def);
        let (kernel, engine) = (program::kernel(&spec), program::engine(&spec, options()));
        let fd = std::os::fd::AsFd::as_fd(kernel.map("m").unwrap()).try_clone_to_owned().unwrap();
        let map = engine.machine().unwrap().map("m").unwrap();
        let raw = bpf::Map::from_fd(fd).unwrap();
        Self { kernel: raw, engine: map, runtimes: Some((kernel, engine)), _machine: None }
    }

    /// Bytes of a value as user space sees it.
    pub fn value_size(&self) -> usize {
        self.kernel.value_size()
    }

    pub fn freeze(&self) {
        self.kernel.freeze().unwrap();
        self.engine.freeze();
    }

    /// What both arms answer to an operation of user space: kernel, engine.
    pub fn user(&self, operation: &User) -> (Answer, Answer) {
        (ask_kernel(&self.kernel, operation), ask_engine(&self.engine, operation))
    }

    /// What both arms answer to a program: kernel, engine.
    pub fn run(&mut self, call: &Call) -> (Ran, Ran) {
        let (kernel, engine) = self.runtimes.as_mut().unwrap();
        (call.run(kernel), call.run(engine))
    }

    /// All keys: kernel, engine.
    pub fn keys(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let walk = |ask: &dyn Fn(&User) -> Answer| {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            while let Ok(key) = ask(&User::Next(keys.last().cloned())) {
                keys.push(key);
            }
            keys
        };
        let kernel = walk(&|operation| ask_kernel(&self.kernel, operation));
        (kernel, walk(&|operation| ask_engine(&self.engine, operation)))
    }
}

/// For programs that the kernel does not load: its words, and the engine's when it comes to that.
pub fn refused(def: &MapDef, call: &Call) -> (String, String) {
    let spec = program::spec(def);
    let mut kernel = KernelRuntime::default();
    let mut engine = program::engine(&spec, options());
    let loaded = kernel.load(&spec).map_err(|error| error.to_string());
    let ran = call.try_run(&mut engine).map_err(|error| error.to_string());
    (loaded.unwrap_err(), ran.unwrap_err())
}

/// The error numbers of creation, 0 for none: kernel, engine.
pub fn create(def: &MapDef) -> (i32, i32) {
    let number = |answer: Result<(), i32>| answer.err().unwrap_or(0);
    (number(in_kernel(def).map(drop)), number(in_engine(def).map(drop)))
}

pub fn def(kind: MapKind, [key_size, value_size, max_entries]: [u32; 3]) -> MapDef {
    let name = "m".to_owned();
    MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() }
}

fn in_kernel(def: &MapDef) -> Result<bpf::Map, i32> {
    let create = MapCreate {
        name: "m",
        kind: def.kind.0,
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        flags: def.flags,
        extra: def.extra,
        ..MapCreate::default()
    };
    bpf::Map::create(&create).map_err(|error| error.errno)
}

fn in_engine(def: &MapDef) -> Result<Arc<vm::Map>, i32> {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    let machine = MACHINE.get_or_init(|| Machine::load(&Spec::default(), &options()).unwrap());
    machine.create_map(def).map_err(|error| match error {
        Error::Map { errno, .. } => errno.0,
        other => panic!("{other}"),
    })
}

fn options() -> Options {
    let cpus = u32::try_from(sys::cpu::possible().unwrap()).unwrap();
    Options { cpus, ..Options::default() }
}

fn ask_kernel(map: &bpf::Map, operation: &User) -> Answer {
    let mut value = vec![0; map.value_size()];
    let present = |found: Result<bool, sys::Error>, bytes: Vec<u8>| match found {
        Ok(true) => Ok(bytes),
        Ok(false) => Err(ENOENT),
        Err(error) => Err(error.errno),
    };
    match operation {
        User::Lookup(key, flags) => present(map.lookup(key, &mut value, *flags), value),
        User::Update(key, value, flags) => {
            map.update(key, value, *flags).map(|()| Vec::new()).map_err(|error| error.errno)
        }
        User::Delete(key) => present(map.delete(key), Vec::new()),
        User::Take(key) => present(map.take(key, &mut value), value),
        User::Next(key) => {
            let mut next = vec![0; map.key_size()];
            present(map.next_key(key.as_deref(), &mut next), next)
        }
    }
}

fn ask_engine(map: &vm::Map, operation: &User) -> Answer {
    let done = |answer: Result<(), vm::Errno>| answer.map(|()| Vec::new());
    let answer = match operation {
        User::Lookup(key, flags) => map.read_with(key, *flags),
        User::Update(key, value, flags) => done(map.write(key, value, *flags)),
        User::Delete(key) => done(map.remove(key)),
        User::Take(key) => map.take(key, 0),
        User::Next(key) => map.next_key(key.as_deref()),
    };
    answer.map_err(|errno| errno.0)
}

/// A small generator of numbers with a fixed start.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        ((self.0 >> 33) % end as u64) as usize
    }
}
