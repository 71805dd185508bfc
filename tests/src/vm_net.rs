//! A router with every kind of route, its snapshot as a world, and a program that asks both.

use std::io::Write;
use std::process::Stdio;

use kernel::{KernelRuntime, LoadOptions};
use lab::{Host, LinkOptions, Router};
use spec::asm::{Assembler, Cond, Object, Reg::*};
use spec::{Expect, Input, Map, MapDef, MapKind, ProgramKind, Runtime, Spec, Verdict};
use vm::{Options, VmRuntime};

/// Bytes of the one value of the map `io`: arguments in, answers out.
pub const IO: usize = 160;
/// Where the program leaves what the helper returned.
const ANSWER: usize = 152;

/// Runs `ip` commands inside a host, which must all succeed; those for IPv6 start with `-6`.
pub fn ip(host: &Host, commands: &str) {
    let of_ipv6 = |line: &&str| line.starts_with("-6 ");
    let (ipv6, ipv4): (Vec<&str>, Vec<&str>) = commands.lines().partition(of_ipv6);
    for (family, lines) in [("-4", ipv4), ("-6", ipv6)] {
        let lines: String =
            lines.iter().map(|l| format!("{}\n", l.trim_start_matches("-6 "))).collect();
        let mut command = host.command("ip").unwrap();
        command.args([family, "-batch", "-"]).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "one of\n{lines}");
    }
}

/// The host's namespace as a world; nothing may have been left out.
pub fn snapshot(host: &Host) -> vm::World {
    let snapshot = host.run(control::host::snapshot).unwrap().unwrap();
    let omitted: Vec<_> =
        snapshot.omitted.iter().filter(|line| line.object != "tracked connections").collect();
    assert!(omitted.is_empty(), "{omitted:#?}");
    // The saved world is used, as a file would hold it.
    vm::World::from_toml(&snapshot.world.to_toml().unwrap()).unwrap()
}

pub fn router() -> Router {
    Router::build(&LinkOptions::default()).unwrap()
}

/// A program around one call: R6 is the context, R7 the value of `io`; `call` leaves R0.
pub fn asking(name: &str, call: impl FnOnce(&mut Assembler)) -> Assembler {
    let mut a = Assembler::new(name, ProgramKind::XDP);
    let absent = a.label();
    a.mov(R6, R1).store32(R10.at(-4), 0).lookup("io", R10.at(-4));
    a.jump_if(R0, Cond::Eq, 0, absent).mov(R7, R0);
    call(&mut a);
    a.store64(R7.at(ANSWER as i16), R0).verdict(Verdict::Pass);
    a.bind(absent).verdict(Verdict::Aborted);
    a
}

/// An object of such programs.
pub fn object(programs: Vec<Assembler>) -> Spec {
    let mut object = Object::new("net.o", "Dual MIT/GPL");
    let (kind, value_size) = (MapKind::ARRAY, IO as u32);
    let map = MapDef { name: "io".to_owned(), kind, value_size, ..MapDef::default() };
    object.map(MapDef { key_size: 4, max_entries: 1, ..map });
    for program in programs {
        object.program(program);
    }
    object.finish().unwrap()
}

/// An object in the kernel, inside a host, and in a world.
#[derive(Debug)]
pub struct Pair {
    kernel: KernelRuntime,
    vm: VmRuntime,
}

/// What a run left in `io`.
pub type Io = [u8; IO];

impl Pair {
    pub fn new(spec: &Spec, world: vm::World) -> Self {
        let mut kernel = KernelRuntime::new(LoadOptions::default());
        kernel.load(spec).unwrap_or_else(|error| panic!("{error}"));
        let mut vm = VmRuntime::new(Options { world, ..Options::default() });
        vm.load(spec).unwrap_or_else(|error| panic!("{error}"));
        Self { kernel, vm }
    }

    /// Kernel's and engine's answer. For a thread inside the host.
    pub fn both(&mut self, program: &str, io: &Io, input: &Input) -> [Io; 2] {
        [ask(&mut self.kernel, program, io, input), ask(&mut self.vm, program, io, input)]
    }
}

fn ask<R: Runtime>(runtime: &mut R, program: &str, io: &Io, input: &Input) -> Io {
    let map = |runtime: &R| runtime.map("io").unwrap().lookup(&[0; 4]).unwrap().unwrap();
    runtime.map("io").unwrap().update(&[0; 4], io, Expect::Any).unwrap();
    let outcome = runtime.run(program, input).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.verdict, Verdict::Pass);
    map(runtime).try_into().unwrap()
}

/// The helper's answer.
pub fn answer(io: &Io) -> i64 {
    i64::from_ne_bytes(io[ANSWER..ANSWER + 8].try_into().unwrap())
}

/// Writes a field.
pub fn put(io: &mut Io, at: usize, bytes: &[u8]) {
    io[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A packet that came in on the interface of that number.
pub fn from(ingress_ifindex: u32) -> Input {
    Input { packet: vec![0; 60], ingress_ifindex, ..Input::default() }
}

/// A fixed sequence of numbers (`xorshift64*`).
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() >> 33) as usize % end
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}
