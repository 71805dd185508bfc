//! A program that executes commands on the map `m`, on either runtime.
//!
//! The one value of the map `io` holds the command and afterwards its result.

use kernel::{KernelRuntime, LoadOptions};
use spec::asm::{Assembler, Cond, Helper, Label, Object, Reg::*};
use spec::{Expect, Input, Map as _, MapDef, MapKind, ProgramKind, Runtime, Spec, Verdict};
use vm::{Options, VmRuntime};

/// What the program is to do.
#[derive(Debug)]
pub struct Call {
    /// Below [`Call::KINDS`].
    pub kind: u32,
    pub flags: u64,
    pub key: Vec<u8>,
    /// A second key, for kinds that use one.
    pub other: Vec<u8>,
    pub value: Vec<u8>,
}

/// The helper's answer and the value that the program read.
pub type Ran = (i64, Vec<u8>);

/// Offsets in the value of `io`.
const KIND: i16 = 0;
const FLAGS: i16 = 8;
const RESULT: i16 = 16;
const KEY: i16 = 24;
const OTHER: i16 = 48;
const VALUE: i16 = 72;
const OUT: i16 = 120;
const IO: u32 = 168;

type Act = fn(&mut Assembler, Label, u32);

/// What there is to do, by kind.
const ACTS: &[Act] = &[look, update, delete, hold_update, hold_delete, hold_reuse, add];

impl Call {
    pub const KINDS: usize = ACTS.len();

    /// Whether memory of a deleted element may be another one's when it is read.
    pub fn reuses(&self) -> bool {
        self.kind == 5
    }

    pub fn run<R: Runtime>(&self, runtime: &mut R) -> Ran {
        self.try_run(runtime).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_run<R: Runtime>(&self, runtime: &mut R) -> Result<Ran, R::Error> {
        let mut io = vec![0; IO as usize];
        let mut put =
            |at: i16, bytes: &[u8]| io[at as usize..][..bytes.len()].copy_from_slice(bytes);
        put(KIND, &self.kind.to_ne_bytes());
        put(FLAGS, &self.flags.to_ne_bytes());
        put(KEY, &self.key);
        put(OTHER, &self.other);
        put(VALUE, &self.value);
        runtime.map("io").unwrap().update(&[0; 4], &io, Expect::Any).unwrap();
        let input = Input { packet: vec![0; 60], ..Input::default() };
        let outcome = runtime.run("act", &input)?;
        assert_eq!(outcome.verdict, Verdict::Pass);
        let io = runtime.map("io").unwrap().lookup(&[0; 4]).unwrap().unwrap();
        let result = i64::from_ne_bytes(io[RESULT as usize..][..8].try_into().unwrap());
        Ok((result, io[OUT as usize..][..self.value.len()].to_vec()))
    }
}

pub fn kernel(spec: &Spec) -> KernelRuntime {
    // The engine runs on its processor 0.
    sys::cpu::set_affinity(&[0]).unwrap();
    let mut runtime = KernelRuntime::new(LoadOptions::default());
    runtime.load(spec).unwrap_or_else(|error| panic!("{error}"));
    runtime
}

pub fn engine(spec: &Spec, options: Options) -> VmRuntime {
    let mut runtime = VmRuntime::new(options);
    runtime.load(spec).unwrap_or_else(|error| panic!("{error}"));
    runtime
}

/// Map `m` as given, and the program `act`.
pub fn spec(def: &MapDef) -> Spec {
    let mut object = Object::new("act.o", "Dual MIT/GPL");
    let io = MapDef { name: "io".to_owned(), kind: MapKind::ARRAY, ..MapDef::default() };
    object.map(MapDef { key_size: 4, value_size: IO, max_entries: 1, ..io });
    object.map(def.clone());
    let mut a = Assembler::new("act", ProgramKind::XDP);
    let done = a.label();
    a.store32(R10.at(-4), 0).lookup("io", R10.at(-4));
    a.jump_if(R0, Cond::Eq, 0, done).mov(R6, R0).load32(R7, R6.at(KIND));
    for (kind, act) in (0..).zip(ACTS) {
        let next = a.label();
        a.jump_if(R7, Cond::Ne, kind, next);
        act(&mut a, done, def.value_size);
        a.jump(done).bind(next);
    }
    a.bind(done).verdict(Verdict::Pass);
    object.program(a);
    object.finish().unwrap()
}

/// r0: the element's value; ends with result 0 where there is none.
fn find(a: &mut Assembler, done: Label, key: i16) {
    a.load_map(R1, "m").mov(R2, R6).add(R2, key as i32).call(Helper::MAP_LOOKUP_ELEM);
    a.jump_if(R0, Cond::Eq, 0, done);
}

fn set(a: &mut Assembler, key: i16) {
    a.load_map(R1, "m").mov(R2, R6).add(R2, key as i32).mov(R3, R6).add(R3, VALUE as i32);
    a.load64(R4, R6.at(FLAGS)).call(Helper::MAP_UPDATE_ELEM).store64(R6.at(RESULT), R0);
}

fn drop_key(a: &mut Assembler) {
    a.load_map(R1, "m").mov(R2, R6).add(R2, KEY as i32).call(Helper::MAP_DELETE_ELEM);
    a.store64(R6.at(RESULT), R0);
}

/// Copies the value at r8 out.
fn show(a: &mut Assembler, size: u32) {
    for word in (0..size as i16).step_by(8) {
        a.load64(R1, R8.at(word)).store64(R6.at(OUT + word), R1);
    }
}

fn look(a: &mut Assembler, done: Label, size: u32) {
    find(a, done, KEY);
    a.mov(R8, R0).store64(R6.at(RESULT), 1);
    show(a, size);
}

fn update(a: &mut Assembler, _: Label, _: u32) {
    set(a, KEY);
}

fn delete(a: &mut Assembler, _: Label, _: u32) {
    drop_key(a);
}

/// What is seen through a pointer from before an update.
fn hold_update(a: &mut Assembler, done: Label, size: u32) {
    find(a, done, KEY);
    a.mov(R8, R0);
    set(a, KEY);
    show(a, size);
}

fn hold_delete(a: &mut Assembler, done: Label, size: u32) {
    find(a, done, KEY);
    a.mov(R8, R0);
    drop_key(a);
    show(a, size);
}

/// A pointer to one element, then another one comes.
fn hold_reuse(a: &mut Assembler, done: Label, size: u32) {
    find(a, done, KEY);
    a.mov(R8, R0);
    drop_key(a);
    set(a, OTHER);
    show(a, size);
}

/// Changes the value in place.
fn add(a: &mut Assembler, done: Label, size: u32) {
    find(a, done, KEY);
    a.mov(R8, R0).load64(R1, R8.at(0)).add(R1, 3).store64(R8.at(0), R1);
    show(a, size);
}
