//! tcpdump expressions: what matches is what tcpdump finds to match, frame by frame, by the plain
//! interpreter, and by the translation on the engine and in the kernel.

use filter::Field;
use filter::language::classic::{Classic, Program, Site};
use kernel::{KernelRuntime, LoadOptions};
use spec::asm::Reg::{R1, R2, R6, R10};
use spec::asm::{Assembler, Object, Size};
use spec::{Input, ProgramKind, Runtime, Spec, Verdict};
use sys::pcap::{Instruction, Library};
use vm::{Options, VmRuntime};
use xway_tests::expr::{corpus, tcpdump};
use xway_tests::random::Random;

const SEED: u64 = 0x5eed_0001;

const EXPRESSIONS: &[&str] = &[
    "",
    "ip",
    "ip6",
    "arp",
    "not ip and not ip6",
    "udp",
    "tcp or icmp",
    "icmp6",
    "ip proto 17",
    "ip6 proto 6",
    "ether proto 0x88cc",
    "ether host 02:99:00:00:00:01",
    "ether dst ff:ff:ff:ff:ff:ff",
    "ether src 02:99:00:00:00:02 and udp",
    "ether broadcast",
    "ether multicast",
    "ip multicast",
    "host 192.0.2.1",
    "src host 192.0.2.1 and dst host 198.51.100.2",
    "net 192.0.2.0/24",
    "dst net 198.51.100.0 mask 255.255.255.0",
    "src net 2001:db8::/32",
    "host 2001:db8::2",
    "arp host 192.0.2.1",
    "port 53",
    "src port 53",
    "udp dst port 53",
    "tcp port 80 or tcp port 443",
    "portrange 1000-5000",
    "udp src portrange 50-60",
    "not port 53",
    "udp and dst port 53 and udp[10:2] = 1",
    "udp[8:4] = 0x00090001",
    "udp[4:2] > 20",
    "tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-syn",
    "tcp[13] & 7 != 0",
    "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
    "tcp and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
    "ip[0] & 0xf != 5",
    "ip[6:2] & 0x1fff = 0",
    "ip[6] & 0x20 != 0",
    "ip[8] < 5",
    "ip6[7] = 1",
    "ip6[6] = 44",
    "icmp[icmptype] = icmp-echo",
    "icmp6[0] = 128",
    "len > 100",
    "less 60",
    "greater 1000",
    "ether[12:2] < 0x600",
    "ether[0] & 1 = 0 and ip[16] >= 224",
    "ether[20:4] = 0 or ether[60] = 0",
    "vlan",
    "vlan 7",
    "vlan 7 and ip",
    "vlan and vlan 8 and udp port 53",
    "vlan 100 and tcp[13] = 2",
    "mpls",
    "pppoes",
    "llc",
    "ip[2:2] / ip[9] > 3",
    "ip[2:2] % 7 = 1",
    "ip[len - 20] = 0",
    "1 << (ip[9] & 7) = 2",
    "ip[2:2] << ip[8] > 100",
    "ip[4:2] ^ ip[2:2] > 100",
    "ether[ether[13] & 15:2] * 3 - ip[1] > 0x3000",
    "-ip[8] < 0xffffffc5",
    "host 192.0.2.1 and not (port 53 or port 80) and greater 50",
    "ip host 192.0.2.1 and (tcp[13] & 2 != 0 or udp[0:2] = 53 or icmp)",
];

fn compile(library: &Library, expression: &str) -> Program {
    let insns = library.compile(expression).unwrap();
    let insns: Vec<_> = insns.into_iter().map(classic).collect();
    Program::new(&insns).unwrap_or_else(|error| panic!("{expression}: {error}"))
}

fn classic(insn: Instruction) -> Classic {
    let Instruction { code, jump_true, jump_false, k } = insn;
    Classic { code, jump_true, jump_false, k }
}

/// A program that passes what matches, with as much of `struct filter_packet` as that needs.
fn spec(program: &Program) -> Spec {
    const CONTEXT: i16 = -8;
    const PACKET: i16 = CONTEXT - 104;
    let mut asm = Assembler::new("expression", ProgramKind::XDP);
    let [matched, unmatched] = [asm.label(), asm.label()];
    asm.store64(R10.at(CONTEXT), R1).mov(R6, R1);
    asm.packet(R1, R2, R6).sub(R2, R1);
    asm.store(Size::Word, R10.at(PACKET + Field::Length.place().offset), R2);
    asm.mov(R6, R10).add(R6, PACKET);
    let memory = PACKET - Program::MEMORY;
    program.append(
        &mut asm,
        Site { packet: R6, context: R10.at(CONTEXT), memory, matched, unmatched },
    );
    asm.bind(matched).verdict(Verdict::Pass);
    asm.bind(unmatched).verdict(Verdict::Drop);
    let mut object = Object::new("expression", "GPL");
    object.program(asm);
    object.finish().unwrap()
}

/// What the program answers on both arms, frame by frame.
fn compare(name: &str, program: &Program, frames: &[Vec<u8>], want: impl Fn(usize) -> bool) {
    let spec = spec(program);
    let mut engine = VmRuntime::new(Options::default());
    engine.load(&spec).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut kernel = KernelRuntime::new(LoadOptions::default());
    kernel.load(&spec).unwrap_or_else(|error| panic!("{name}: {error}"));
    for (number, frame) in frames.iter().enumerate() {
        let want = want(number);
        let tell = |arm| format!("{name}, seed {SEED:#x}, frame {number} {arm}: {frame:02x?}");
        let plain = program.matches(frame, frame.len() as u32);
        assert_eq!(plain, want, "{}", tell("interpreted"));
        let input = Input { packet: frame.clone(), ..Input::default() };
        let engine = engine.run("expression", &input).unwrap().verdict;
        assert_eq!(engine == Verdict::Pass, want, "{}", tell("on the engine"));
        let kernel = kernel.run("expression", &input).unwrap().verdict;
        assert_eq!(kernel == Verdict::Pass, want, "{}", tell("in the kernel"));
    }
}

#[test]
fn expressions_match_what_tcpdump_matches() {
    let library = Library::open().expect("libpcap0.8 is installed (Makefile: PACKAGES)");
    let frames = corpus(SEED);
    let mut blind = Vec::new();
    for expression in EXPRESSIONS {
        let program = compile(&library, expression);
        let matching = tcpdump(&frames, expression);
        if matching.is_empty() || matching.len() == frames.len() {
            blind.push(expression);
        }
        compare(expression, &program, &frames, |number| matching.contains(&number));
    }
    assert_eq!(blind, [&""], "these say nothing about the frames");
}

/// Programs that libpcap would not make: any order, any operation, memory, long ways.
#[test]
fn random_programs_answer_as_the_interpreter_does() {
    let frames = corpus(SEED);
    let mut random = Random::new(SEED);
    for case in 0..400 {
        let program = random_program(&mut random);
        let sample: Vec<_> = (0..40).map(|_| random.one(&frames).clone()).collect();
        let want: Vec<_> =
            sample.iter().map(|frame| program.matches(frame, frame.len() as u32)).collect();
        compare(&format!("case {case} {program:?}"), &program, &sample, |at| want[at]);
    }
}

fn random_program(random: &mut Random) -> Program {
    loop {
        let len = 4 + random.below(40);
        let insns: Vec<_> = (0..len).map(|at| random_insn(random, len - at)).collect();
        if let Ok(program) = Program::new(&insns) {
            return program;
        }
    }
}

/// One that is right in most places; `left` is how many are to come with it.
fn random_insn(random: &mut Random, left: usize) -> Classic {
    let offsets = [0, 1, 6, 12, 14, 20, 23, 40, 60, 0x7ffe, 0xfffc, 0xffff, 0x1_0000, 0x7fff_ffff];
    let numbers = [0, 1, 4, 17, 31, 33, 0x800, 0xffff, 0x8000_0000, u32::MAX];
    let near = |random: &mut Random| random.below(left.saturating_sub(1).clamp(1, 5)) as u8;
    let insn = |code, k| Classic { code, jump_true: 0, jump_false: 0, k };
    if left == 1 {
        return *random.one(&[insn(0x16, 0), insn(0x06, 0), insn(0x06, 1)]);
    }
    match random.below(12) {
        0 | 1 => insn(*random.one(&[0x20, 0x28, 0x30]), offsets[random.below(9)]),
        2 => insn(*random.one(&[0x20, 0x28, 0x30, 0x40, 0x48, 0x50]), *random.one(&offsets)),
        3 => insn(*random.one(&[0x40, 0x48, 0x50]), offsets[random.below(6)]),
        4 => insn(0xb1, *random.one(&[14, 12, 18, 70])),
        5 => insn(*random.one(&[0x00, 0x01]), *random.one(&numbers)),
        6 => insn(*random.one(&[0x80, 0x81, 0x07, 0x87, 0x84]), 0),
        7 => insn(*random.one(&[0x02, 0x03, 0x60, 0x61]), random.below(3) as u32),
        8 => insn(0x0c + 0x10 * *random.one(&[0, 1, 2, 3, 4, 5, 6, 7, 9, 10]), 0),
        9 => insn(
            0x04 + 0x10 * *random.one(&[0, 1, 2, 3, 4, 5, 6, 7, 9, 10]),
            1 + random.below(31) as u32,
        ),
        10 => {
            let (jump_true, jump_false) = (near(random), near(random));
            let code = 0x15 + 0x10 * random.below(4) as u16 + 8 * random.below(2) as u16;
            Classic { code, jump_true, jump_false, k: *random.one(&numbers) }
        }
        _ => insn(0x05, near(random).into()),
    }
}

#[test]
fn fields_that_a_frame_does_not_have_are_refused() {
    let library = Library::open().unwrap();
    for (expression, word) in [
        ("inbound", "inbound"),
        ("outbound and udp", "inbound"),
        ("ip6 protochain 6", "loops"),
        ("ip protochain 51", "loops"),
    ] {
        let insns: Vec<_> = library.compile(expression).unwrap().into_iter().map(classic).collect();
        let error = Program::new(&insns).unwrap_err().to_string();
        assert!(error.contains(word), "{expression}: {error}");
    }
    for expression in ["gateway 192.0.2.1", "ifname eth0", "udp port", "ip[2:3] = 1", "len / 0 > 1"]
    {
        assert!(library.compile(expression).is_err(), "{expression}");
    }
}
