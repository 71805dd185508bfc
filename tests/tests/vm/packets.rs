//! Helpers on packets, kernel against engine: the same answers, bytes and metadata.
//!
//! Small programs take their arguments from a map and leave there what helpers answered and what
//! the packet's ends were afterwards; each case runs on both arms and all that is seen must agree.

use kernel::{KernelRuntime, LoadOptions};
use spec::asm::{Assembler, Cond, Helper, Object, Reg::*};
use spec::{Expect, Input, Map, MapDef, MapKind, ProgramKind, Runtime, Spec, Verdict};
use vm::{Options, VmRuntime};

/// Offsets in the one value of the map `io`.
const ARGUMENTS: [i16; 3] = [0, 4, 8];
const RESULTS: [i16; 3] = [16, 24, 32];
const LINEAR: i16 = 40;
const METADATA: i16 = 44;
const LENGTH: i16 = 48;
const IO: usize = 56;
/// Bytes of the one value of the map `bytes`.
const BYTES: usize = 8192;

/// The size of a packet's first buffer, after 256 bytes of headroom.
const BUFFER: usize = 3520;
/// Longest metadata: the headroom without `struct xdp_frame`.
const LONGEST_METADATA: usize = 216;

// ---- programs -------------------------------------------------------------------------------

/// One step: what it is called with, and where its answer goes.
#[derive(Clone, Copy)]
enum Step {
    Helper(Helper),
    Pull,
    Load,
    Store,
    /// Through the map of that name: key, and the halves of the flags.
    Redirect(&'static str),
}

fn program(name: &str, kind: ProgramKind, steps: &[Step]) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let absent = a.label();
    a.mov(R6, R1).store32(R10.at(-4), 0).lookup("bytes", R10.at(-4));
    a.jump_if(R0, Cond::Eq, 0, absent).mov(R8, R0).lookup("io", R10.at(-4));
    a.jump_if(R0, Cond::Eq, 0, absent).mov(R7, R0);
    for (step, place) in steps.iter().zip(0..) {
        say(&mut a, *step, place);
    }
    a.packet(R2, R3, R6).load32(R4, R6.at(8));
    a.sub(R3, R2).sub(R2, R4).store32(R7.at(LINEAR), R3).store32(R7.at(METADATA), R2);
    a.mov(R1, R6).call(Helper::XDP_GET_BUFF_LEN).store64(R7.at(LENGTH), R0);
    a.verdict(Verdict::Tx).bind(absent).verdict(Verdict::Aborted);
    a
}

fn say(a: &mut Assembler, step: Step, place: usize) {
    let argument = R7.at(ARGUMENTS[place]);
    match step {
        Step::Helper(helper) => {
            a.mov(R1, R6).load32(R2, argument).call(helper);
        }
        Step::Pull => {
            a.mov(R1, R6).load32(R2, argument).call_kfunc("bpf_xdp_pull_data");
        }
        Step::Load => copy(a, Helper::XDP_LOAD_BYTES),
        Step::Store => copy(a, Helper::XDP_STORE_BYTES),
        Step::Redirect(map) => {
            a.load32(R2, R7.at(ARGUMENTS[0])).load32(R3, R7.at(ARGUMENTS[1]));
            a.load32(R4, R7.at(ARGUMENTS[2])).lsh(R4, 32).or(R3, R4);
            a.load_map(R1, map).call(Helper::REDIRECT_MAP);
        }
    }
    a.store64(R7.at(RESULTS[place]), R0);
}

/// From or to `bytes`: the first argument is the offset, the second the length.
fn copy(a: &mut Assembler, helper: Helper) {
    let (skip, go) = (a.label(), a.label());
    a.mov(R0, -1).load32(R4, R7.at(ARGUMENTS[1]));
    a.jump_if(R4, Cond::Gt, BYTES as i32, skip).jump_if(R4, Cond::Ne, 0, go).jump(skip);
    a.bind(go).mov(R1, R6).load32(R2, R7.at(ARGUMENTS[0])).mov(R3, R8).call(helper);
    a.bind(skip);
}

const REDIRECT_MAPS: [(&str, MapKind); 4] = [
    ("ports", MapKind::DEVMAP),
    ("hash", MapKind::DEVMAP_HASH),
    ("cpus", MapKind::CPUMAP),
    ("sockets", MapKind::XSKMAP),
];

const HEAD: Step = Step::Helper(Helper::XDP_ADJUST_HEAD);
const META: Step = Step::Helper(Helper::XDP_ADJUST_META);
const TAIL: Step = Step::Helper(Helper::XDP_ADJUST_TAIL);

fn spec() -> Spec {
    let mut object = Object::new("packets.o", "Dual MIT/GPL");
    for (name, size) in [("io", IO), ("bytes", BYTES)] {
        let (kind, value_size) = (MapKind::ARRAY, size as u32);
        let map = MapDef { name: name.to_owned(), kind, value_size, ..MapDef::default() };
        object.map(MapDef { key_size: 4, max_entries: 1, ..map });
    }
    for (name, kind) in REDIRECT_MAPS {
        let name = name.to_owned();
        let map = MapDef { name, kind, value_size: 4, max_entries: 4, ..MapDef::default() };
        object.map(MapDef { key_size: 4, ..map });
    }
    let programs: &[(&str, &[Step])] = &[
        ("head", &[HEAD]),
        ("meta", &[META]),
        ("tail", &[TAIL]),
        ("pull", &[Step::Pull]),
        ("load", &[Step::Load]),
        ("store", &[Step::Store]),
        ("meta_head_tail", &[META, HEAD, TAIL]),
        ("tail_head_meta", &[TAIL, HEAD, META]),
        ("pull_tail_pull", &[Step::Pull, TAIL, Step::Pull]),
        ("tail_tail_head", &[TAIL, TAIL, HEAD]),
        ("head_pull_tail", &[HEAD, Step::Pull, TAIL]),
    ];
    for (name, steps) in programs {
        object.program(program(name, ProgramKind::XDP, steps));
        object.program(program(&format!("{name}_frags"), ProgramKind::XDP_FRAGS, steps));
    }
    // A redirect map takes programs of one of the two kinds only.
    for (name, _) in REDIRECT_MAPS {
        object.program(program(name, ProgramKind::XDP, &[Step::Redirect(name)]));
    }
    object.finish().unwrap()
}

// ---- the two arms ---------------------------------------------------------------------------

/// All that a run shows.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    verdict: Verdict,
    packet: Vec<u8>,
    metadata: Vec<u8>,
    io: Vec<u8>,
    bytes: Vec<u8>,
}

/// `None` when the packet itself is refused.
fn run<R: Runtime>(
    runtime: &mut R,
    program: &str,
    arguments: [i32; 3],
    input: &Input,
) -> Option<Seen> {
    let mut io = vec![0xee; IO];
    for (argument, at) in arguments.iter().zip(ARGUMENTS) {
        io[at as usize..at as usize + 4].copy_from_slice(&argument.to_ne_bytes());
    }
    let pattern: Vec<u8> = (0..BYTES).map(|at| (at * 7 + 3) as u8).collect();
    let value =
        |runtime: &R, name: &str| runtime.map(name).unwrap().lookup(&[0; 4]).unwrap().unwrap();
    runtime.map("io").unwrap().update(&[0; 4], &io, Expect::Any).unwrap();
    runtime.map("bytes").unwrap().update(&[0; 4], &pattern, Expect::Any).unwrap();
    let outcome = runtime.run(program, input).ok()?;
    Some(Seen {
        verdict: outcome.verdict,
        packet: outcome.packet,
        metadata: outcome.metadata,
        io: value(runtime, "io"),
        bytes: value(runtime, "bytes"),
    })
}

struct Pair {
    kernel: KernelRuntime,
    vm: VmRuntime,
}

impl Pair {
    fn new() -> Self {
        let mut kernel = KernelRuntime::new(LoadOptions::default());
        kernel.load(&spec()).unwrap_or_else(|error| panic!("{error}"));
        let mut vm = VmRuntime::new(Options { cpus: 2, ..Options::default() });
        vm.load(&spec()).unwrap_or_else(|error| panic!("{error}"));
        Self { kernel, vm }
    }

    /// Runs the case on both, in both kinds of program.
    fn agree(&mut self, program: &str, arguments: [i32; 3], packet: usize, metadata: usize) {
        self.agree_in(program, arguments, packet, metadata);
        self.agree_in(&format!("{program}_frags"), arguments, packet, metadata);
    }

    fn agree_in(&mut self, program: &str, arguments: [i32; 3], packet: usize, metadata: usize) {
        let input = Input {
            packet: (0..packet).map(|at| (at ^ at >> 8) as u8).collect(),
            metadata: (0..metadata).map(|at| 0x80 | at as u8).collect(),
            ..Input::default()
        };
        let kernel = run(&mut self.kernel, program, arguments, &input);
        let vm = run(&mut self.vm, program, arguments, &input);
        if kernel != vm {
            let case = format!("{program}{arguments:?} on {packet}+{metadata} bytes");
            panic!("{case}: {}", difference(kernel.as_ref(), vm.as_ref()));
        }
    }
}

/// A description of the first difference: the values themselves are long.
fn difference(kernel: Option<&Seen>, vm: Option<&Seen>) -> String {
    let (Some(kernel), Some(vm)) = (kernel, vm) else {
        return format!("kernel ran it: {}, vm ran it: {}", kernel.is_some(), vm.is_some());
    };
    let facts = |seen: &Seen| {
        let word = |at: i16| u32::from_ne_bytes(seen.io[at as usize..][..4].try_into().unwrap());
        let answers = RESULTS.map(|at| word(at).cast_signed());
        let lengths = (word(LINEAR), word(METADATA), word(LENGTH), seen.packet.len());
        format!("{} answers {answers:?} linear, meta, all, out {lengths:?}", seen.verdict)
    };
    let first = |a: &[u8], b: &[u8]| a.iter().zip(b).position(|(a, b)| a != b);
    format!(
        "\n  kernel {}\n  vm     {}\n  first different: packet {:?}, metadata {:?}, bytes {:?}",
        facts(kernel),
        facts(vm),
        first(&kernel.packet, &vm.packet),
        first(&kernel.metadata, &vm.metadata),
        first(&kernel.bytes, &vm.bytes),
    )
}

/// One buffer, full, and up to what 16 bits count; at the edges of fragments.
const LENGTHS: &[usize] =
    &[14, 15, 60, 1514, 3519, BUFFER, BUFFER + 1, BUFFER + 4096, 7617, 9000, 60000];
const METADATA_LENGTHS: &[usize] = &[0, 4, 32, LONGEST_METADATA];

/// Each number, and those around it.
fn around(numbers: &[i32]) -> Vec<i32> {
    let mut all: Vec<i32> = numbers
        .iter()
        .flat_map(|number| [-4, -1, 0, 1, 4].map(|by| number.saturating_add(by)))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

// ---- stories --------------------------------------------------------------------------------

#[test]
fn packets_and_metadata_of_the_same_sizes_are_taken() {
    let mut pair = Pair::new();
    for packet in [0, 1, 13, 14, 73152, 73153, 80000].iter().chain(LENGTHS) {
        pair.agree("head", [0; 3], *packet, 0);
    }
    for metadata in (0..=40).chain(200..=260) {
        pair.agree("head", [0; 3], 60, metadata);
        pair.agree("head", [0; 3], 9000, metadata);
    }
}

#[test]
fn head() {
    let mut pair = Pair::new();
    for &packet in LENGTHS {
        for &metadata in METADATA_LENGTHS {
            let (short, meta) = (packet.min(BUFFER) as i32 - 14, metadata as i32);
            let limits = [0, -216, -216 + meta, short, -256, -4096, 4096, i32::MIN, i32::MAX];
            for delta in around(&limits) {
                pair.agree("head", [delta, 0, 0], packet, metadata);
            }
        }
    }
}

#[test]
fn meta() {
    let mut pair = Pair::new();
    for &packet in &[14, 60, 9000] {
        for &metadata in METADATA_LENGTHS {
            let meta = metadata as i32;
            let limits = [0, -32, -216, -216 + meta, -256 + meta, -252, meta, i32::MIN, i32::MAX];
            for delta in around(&limits) {
                pair.agree("meta", [delta, 0, 0], packet, metadata);
            }
        }
    }
}

#[test]
fn tail() {
    let mut pair = Pair::new();
    for &packet in LENGTHS {
        let (len, last) = (packet as i32, (packet.max(BUFFER) - BUFFER) as i32 % 4096);
        let room = BUFFER as i32 - len;
        let fragments = [-last, -last - 4096, 4096 - last, BUFFER as i32 - len];
        let limits = [0, 14 - len, -len, room, 4096, 320, i32::MIN, i32::MAX];
        for delta in around(&[&limits[..], &fragments[..]].concat()) {
            pair.agree("tail", [delta, 0, 0], packet, 0);
            pair.agree("tail", [delta, 0, 0], packet, 32);
        }
    }
}

#[test]
fn pull() {
    let mut pair = Pair::new();
    for &packet in LENGTHS {
        for &metadata in METADATA_LENGTHS {
            let (len, meta) = (packet as i32, metadata as i32);
            let held = len.min(BUFFER as i32);
            let most = 3776 - 40 - meta;
            for asked in around(&[0, held, len, BUFFER as i32, most, i32::MAX, -1]) {
                pair.agree("pull", [asked, 0, 0], packet, metadata);
            }
        }
    }
}

#[test]
fn load_and_store() {
    let mut pair = Pair::new();
    for &packet in LENGTHS {
        let len = packet as i32;
        for offset in around(&[0, BUFFER as i32, BUFFER as i32 + 4096, len, 0xffff, i32::MAX, -1]) {
            for size in [0, 1, 2, 14, 300, 4095, 4097, 8192, len - offset.max(0)] {
                pair.agree("load", [offset, size, 0], packet, 4);
                pair.agree("store", [offset, size, 0], packet, 4);
            }
        }
    }
}

#[test]
fn one_after_the_other() {
    let mut pair = Pair::new();
    let tables: [(&str, &[[i32; 3]]); 5] = [
        (
            "meta_head_tail",
            &[
                [-4, -8, 8],
                [-32, -184, 9],
                [-32, -185, -9],
                [-216, 4, 4],
                [-216, -1, 4],
                [-5, 3, 4],
            ],
        ),
        ("tail_head_meta", &[[-40, -8, -8], [100, 30, -32], [-46, 1, 0], [-4000, -216, -4]]),
        (
            "pull_tail_pull",
            &[[3600, -10, 3600], [3776, -5400, 3600], [3736, 10, 3760], [3520, -5481, 3521]],
        ),
        ("tail_tail_head", &[[-5480, 100, 8], [-5480, 257, 8], [-6000, 520, -8], [-5479, 9, 0]]),
        (
            "head_pull_tail",
            &[
                [1000, 3776, 5],
                [256, 3520, -5400],
                [3506, 3600, 9],
                [-216, 3521, -1],
                [40, 3696, 0],
            ],
        ),
    ];
    for (program, cases) in tables {
        for arguments in cases {
            for &packet in LENGTHS {
                pair.agree(program, *arguments, packet, 0);
                pair.agree(program, *arguments, packet, 16);
            }
        }
    }
}

fn fill(set: impl Fn(&str, &[u8], &[u8])) {
    let entries = [("ports", 1, 1), ("ports", 3, 1), ("hash", 70_000, 1), ("cpus", 1, 64)];
    for (map, key, value) in entries {
        set(map, &u32::to_ne_bytes(key), &i32::to_ne_bytes(value));
    }
}

/// What `bpf_redirect_map` answers, for every flag and for keys that are there and that are not.
/// The maps are filled inside a namespace of their own: its loopback interface is number 1.
#[test]
fn redirects() {
    let net = lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap();
    let mut pair = Pair::new();
    let kernel = &pair.kernel;
    let set = |map: &str, key: &[u8], value: &[u8]| {
        kernel.map(map).unwrap().update(key, value, Expect::Any).unwrap();
    };
    net.a.run(|| fill(set)).unwrap();
    fill(|map, key, value| pair.vm.map(map).unwrap().update(key, value, Expect::Any).unwrap());
    for (map, _) in REDIRECT_MAPS {
        for key in [0, 1, 2, 3, 4, 70_000, -1] {
            for flags in (0..=40).chain([64, 0x100, 0x7fff_ffff, -1]) {
                pair.agree_in(map, [key, flags, 0], 60, 0);
            }
            pair.agree_in(map, [key, 0, 1], 60, 0);
        }
    }
}

/// Steps in a row with arguments drawn near what matters.
#[test]
fn random_steps() {
    const SEED: u64 = 0x5eed_0004;
    let mut pair = Pair::new();
    let mut state = SEED;
    let mut below = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let programs =
        ["meta_head_tail", "tail_head_meta", "pull_tail_pull", "tail_tail_head", "head_pull_tail"];
    for _ in 0..1500 {
        let packet = [14 + below(100), 3400 + below(300), 14 + below(12000)];
        let packet = packet[below(3)];
        let most = [1, 9, 55][below(3)];
        let metadata = 4 * below(most);
        let arguments = [(); 3].map(|()| {
            let near = [0, 216, 3520, 3736, 4096, packet, packet.abs_diff(3520)];
            let near = near[below(7)] as i32;
            let number = near + below(9) as i32 - 4;
            if below(2) == 0 { number } else { -number }
        });
        let program = programs[below(programs.len())];
        pair.agree(program, arguments, packet, metadata);
    }
}
