//! Programs that take numbers from a map and leave answers there, run on kernel and engine.
//!
//! ```text
//! io:    | arguments 0..4, 8 bytes each | answers 4..8 |      bytes: 0, 1, 2, … 2048 of them
//! ```

use kernel::{KernelRuntime, LoadOptions};
use spec::asm::{Assembler, At, Cond, Label, Object, Reg::*};
use spec::{Expect, Input, Map, MapDef, MapKind, ProgramKind, Runtime, Spec, Verdict};
use vm::{Options, VmRuntime};

pub const BYTES: usize = 2048;
const WORDS: usize = 8;

/// A program under construction: R6 is the context, R7 `io`, R8 `bytes`.
#[derive(Debug)]
pub struct Writing {
    pub a: Assembler,
    absent: Label,
}

impl Writing {
    pub fn begin(name: &str) -> Self {
        let mut a = Assembler::new(name, ProgramKind::XDP);
        let absent = a.label();
        a.mov(R6, R1).store32(R10.at(-4), 0).lookup("bytes", R10.at(-4));
        a.jump_if(R0, Cond::Eq, 0, absent).mov(R8, R0).lookup("io", R10.at(-4));
        a.jump_if(R0, Cond::Eq, 0, absent).mov(R7, R0);
        Self { a, absent }
    }

    pub fn end(mut self) -> Assembler {
        self.a.verdict(Verdict::Pass).bind(self.absent).verdict(Verdict::Aborted);
        self.a
    }

    /// Ends early with `Aborted`.
    pub fn absent(&self) -> Label {
        self.absent
    }
}

/// Where an argument or answer is.
pub fn word(number: usize) -> At {
    R7.at((number * 8) as i16)
}

/// A map's definition; `shape`: bytes of key, bytes of value, entries.
pub fn map(name: &str, kind: MapKind, [key_size, value_size, max_entries]: [u32; 3]) -> MapDef {
    let name = name.to_owned();
    MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() }
}

pub fn object(maps: Vec<MapDef>, programs: Vec<Assembler>) -> Spec {
    let mut object = Object::new("io.o", "Dual MIT/GPL");
    object.map(map("io", MapKind::ARRAY, [4, (WORDS * 8) as u32, 1]));
    object.map(map("bytes", MapKind::ARRAY, [4, BYTES as u32, 1]));
    maps.into_iter().for_each(|map| _ = object.map(map));
    programs.into_iter().for_each(|program| _ = object.program(program));
    object.finish().unwrap()
}

/// One object on both arms.
#[derive(Debug)]
pub struct Both {
    pub kernel: KernelRuntime,
    pub engine: VmRuntime,
}

impl Both {
    /// Binds the calling thread to processor 0, which the engine runs on too.
    pub fn load(spec: &Spec) -> Self {
        sys::cpu::set_affinity(&[0]).unwrap();
        let cpus = u32::try_from(sys::cpu::possible().unwrap()).unwrap();
        let mut kernel = KernelRuntime::new(LoadOptions::default());
        let mut engine = VmRuntime::new(Options { cpus, ..Options::default() });
        kernel.load(spec).unwrap_or_else(|error| panic!("{error}"));
        engine.load(spec).unwrap_or_else(|error| panic!("{error}"));
        let bytes: Vec<u8> = (0..BYTES).map(|place| place as u8).collect();
        kernel.map("bytes").unwrap().update(&[0; 4], &bytes, Expect::Any).unwrap();
        engine.map("bytes").unwrap().update(&[0; 4], &bytes, Expect::Any).unwrap();
        Self { kernel, engine }
    }

    /// Runs a program on both; the answers, which must be the same.
    pub fn run(&mut self, program: &str, arguments: &[u64]) -> [u64; 4] {
        let kernel = run(&mut self.kernel, program, arguments);
        let engine = run(&mut self.engine, program, arguments);
        let signed = |answers: [u64; 4]| answers.map(u64::cast_signed);
        assert_eq!(signed(engine), signed(kernel), "{program} {arguments:x?}");
        engine
    }
}

fn run<R: Runtime>(runtime: &mut R, program: &str, arguments: &[u64]) -> [u64; 4] {
    let mut io: Vec<u8> = arguments.iter().flat_map(|word| word.to_ne_bytes()).collect();
    io.resize(WORDS * 8, 0);
    runtime.map("io").unwrap().update(&[0; 4], &io, Expect::Any).unwrap();
    let input = Input { packet: (0..64).collect(), ..Input::default() };
    let outcome = runtime.run(program, &input).unwrap_or_else(|error| panic!("{program}: {error}"));
    assert_eq!(outcome.verdict, Verdict::Pass, "{program} {arguments:x?}");
    let io = runtime.map("io").unwrap().lookup(&[0; 4]).unwrap().unwrap();
    let answer = |place: usize| u64::from_ne_bytes(io[place * 8..][..8].try_into().unwrap());
    [4, 5, 6, 7].map(answer)
}

/// A repeatable stream of numbers.
#[derive(Clone, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % end
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
