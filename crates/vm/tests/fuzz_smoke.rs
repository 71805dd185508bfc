//! Damaged programs, with a fixed seed: they are refused or run to an end, twice alike. `fuzz/`
//! looks for more with coverage; this keeps what must never come back.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::insn::Insn;
use spec::{Input, Spec};
use vm::{Machine, Options};

const SEED: u64 = 0x5eed_0b1e_c75e_ed01;
const CASES: usize = 300;

/// xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Changes one field of one instruction.
fn damage(insns: &mut [Insn], random: &mut Random) {
    let at = random.below(insns.len());
    let other = insns[random.below(insns.len())];
    let insn = &mut insns[at];
    match random.below(6) {
        0 => insn.code = random.next() as u8,
        1 => insn.dst = random.below(11) as u8,
        2 => insn.src = random.below(11) as u8,
        3 => insn.off = random.next() as i16,
        4 => insn.imm = random.next() as i32,
        _ => *insn = other,
    }
}

fn run(spec: &Spec, packet: &[u8]) -> Option<(Result<u32, String>, Vec<u8>)> {
    let options = Options { budget: 1000, ..Options::default() };
    let mut worker = Machine::load(spec, &options).ok()?.worker(0);
    worker.put(&Input { packet: packet.to_vec(), ..Input::default() }).ok()?;
    let result = worker.execute(0).map_err(|fault| fault.to_string());
    Some((result, worker.packet().into_owned()))
}

#[test]
fn damaged_programs_are_refused_or_run_to_an_end() {
    println!("seed {SEED:#x}");
    let mut random = Random(SEED);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt/");
    let objects = ["drop.o", "route.o", "test/parse.o", "test/calls.o"]
        .map(|name| Spec::parse(name, &std::fs::read(format!("{folder}{name}")).unwrap()).unwrap());
    let mut ran = 0;
    for case in 0..CASES {
        let mut spec = objects[case % objects.len()].clone();
        spec.programs.truncate(1);
        for _ in 0..=random.below(3) {
            damage(&mut spec.programs[0].insns, &mut random);
        }
        let packet: Vec<u8> = (0..14 + random.below(200)).map(|_| random.next() as u8).collect();
        let left = run(&spec, &packet);
        ran += usize::from(left.is_some());
        assert_eq!(left, run(&spec, &packet), "case {case} is not the same twice");
    }
    assert!(ran > CASES / 4, "only {ran} of {CASES} programs loaded");
}
