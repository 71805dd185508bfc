//! Whatever a program does: the run ends, the host lives, and nothing but its own memory changed.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use spec::insn::{self, Insn};
use spec::{Fixup, Function, Input, MapDef, MapKind, Program, ProgramKind, Spec, Target};
use vm::{Machine, Options, Trace};

/// Bytes that are an instruction more often than not.
fn likely() -> impl Strategy<Value = Insn> {
    let register = 0_u8..11;
    let off = prop_oneof![-12_i16..12, any::<i16>()];
    let imm = prop_oneof![-16_i32..64, any::<i32>(), Just(0)];
    (prop::sample::select(CODES), register.clone(), register, off, imm)
        .prop_map(|(code, dst, src, off, imm)| tidied(Insn { code, dst, src, off, imm }))
}

/// Reserved fields cleared, so that most programs load.
fn tidied(mut insn: Insn) -> Insn {
    match insn.class() {
        insn::CLASS_ALU | insn::CLASS_ALU64 => {
            insn.off = 0;
            clear_operand(&mut insn);
        }
        insn::CLASS_JMP | insn::CLASS_JMP32 if !insn.is_call() => clear_operand(&mut insn),
        insn::CLASS_LDX => insn.imm = 0,
        insn::CLASS_STX if insn.code & 0xe0 == insn::MODE_MEM => insn.imm = 0,
        insn::CLASS_STX => {
            insn.imm = [0, 1, 0x41, 0xa0, insn::XCHG, insn::CMPXCHG][insn.imm as usize % 6]
        }
        _ => insn.src = 0,
    }
    if insn.dst == 10 && !matches!(insn.class(), insn::CLASS_ST | insn::CLASS_STX) {
        insn.dst = 0;
    }
    insn
}

fn clear_operand(insn: &mut Insn) {
    if insn.code & insn::FROM_REG == 0 { insn.src = 0 } else { insn.imm = 0 }
}

#[rustfmt::skip]
const CODES: &[u8] = &[
    0x07, 0x0f, 0x17, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x47, 0x57, 0x67, 0x77, 0x87, 0x97, 0xa7, 0xb7,
    0xbf, 0xc7, 0x04, 0x0c, 0x34, 0x94, 0xb4, 0xbc, 0xc4, 0x61, 0x69, 0x71, 0x79, 0x62, 0x6a, 0x72,
    0x7a, 0x63, 0x6b, 0x73, 0x7b, 0x81, 0x89, 0x91, 0xc3, 0xdb, 0x05, 0x15, 0x1d, 0x25, 0x35, 0x45,
    0x55, 0x65, 0xa5, 0xb5, 0xc5, 0xd5, 0x16, 0x56, 0x85, 0x85, 0x95, 0xe5, 0xbf, 0xbf, 0x79, 0x7b,
];

/// r6 is the context, r7 the packet, r8 a map, r9 an array's value or null.
fn prologue() -> Vec<Insn> {
    vec![
        Insn::new(0xbf, 6, 1, 0, 0),
        Insn::new(0x61, 7, 1, 0, 0),
        Insn::new(0x62, 10, 0, -4, 1),
        Insn::new(0xbf, 2, 10, 0, 0),
        Insn::new(0x07, 2, 0, 0, -4),
        Insn::new(insn::LD_IMM64, 1, insn::PSEUDO_MAP_FD, 0, 0),
        Insn::default(),
        Insn::new(insn::CALL, 0, 0, 0, 1),
        Insn::new(0xbf, 9, 0, 0, 0),
        Insn::new(insn::LD_IMM64, 8, insn::PSEUDO_MAP_FD, 0, 0),
        Insn::default(),
        Insn::new(0xb7, 1, 0, 0, 3),
        Insn::new(0xbf, 2, 10, 0, 0),
        Insn::new(0xb7, 3, 0, 0, 5),
        Insn::new(0xbf, 4, 7, 0, 0),
        Insn::new(0xb7, 5, 0, 0, 0),
        Insn::new(0xb7, 0, 0, 0, 2),
    ]
}

fn object(body: &[Insn]) -> Spec {
    let insns = [&prologue()[..], body, &[Insn::new(insn::EXIT, 0, 0, 0, 0)]].concat();
    let fixup = |slot| Fixup { slot, target: Target::Map { map: 0 } };
    let program = Program {
        name: "any".to_owned(),
        kind: ProgramKind::XDP,
        autoload: true,
        insns,
        fixups: vec![fixup(5), fixup(9)],
        functions: vec![Function { name: "any".to_owned(), ..Function::default() }],
        ..Program::default()
    };
    let values = MapDef {
        name: "values".to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: 24,
        max_entries: 3,
        ..MapDef::default()
    };
    Spec { programs: vec![program], maps: vec![values], ..Spec::default() }
}

/// What a run left behind: its result, the packet, the map's values.
type Left = (Result<u32, String>, Vec<u8>, Vec<Vec<u8>>);

fn run(spec: &Spec, traced: bool) -> Option<Left> {
    let options = Options { budget: 300, ..Options::default() };
    let machine = Machine::load(spec, &options).ok()?;
    let mut worker = machine.worker(0);
    if traced {
        worker.set_hook(Some(Box::new(Arc::new(Mutex::new(Trace::new(1000))))));
    }
    let packet = (0..64).collect();
    worker.put(&Input { packet, ..Input::default() }).unwrap();
    let result = worker.execute(0).map_err(|fault| fault.to_string());
    let packet = worker.packet().into_owned();
    let map = machine.map("values").unwrap();
    let values = (0_u32..3).map(|index| map.read(&index.to_ne_bytes()).unwrap());
    Some((result, packet, values.collect()))
}

fn run_bare(insns: Vec<Insn>, memory: &mut [u8]) {
    let program = Program { autoload: true, insns, ..Program::default() };
    let spec = Spec { programs: vec![program], ..Spec::default() };
    let options = Options { budget: 300, ..Options::default() };
    if let Ok(machine) = Machine::load(&spec, &options) {
        // Whether it ends well does not matter here.
        let _ = machine.worker(0).run_raw(0, memory);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_refused_or_run_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let body: Vec<_> = bytes.as_chunks().0.iter().map(|raw| Insn::from_bytes(*raw)).collect();
        run(&object(&body), false);
    }

    #[test]
    fn likely_programs_run_alike_with_a_hook_and_without(
        body in prop::collection::vec(likely(), 1..24)
    ) {
        let spec = object(&body);
        let left = run(&spec, false);
        prop_assert_eq!(&left, &run(&spec, false), "not the same twice");
        prop_assert_eq!(&left, &run(&spec, true), "not the same with a hook");
        if let Some((_, packet, values)) = left {
            prop_assert!(packet.len() <= 4096);
            prop_assert!(values.iter().all(|value| value.len() == 24));
        }
    }

    #[test]
    fn bare_programs_touch_their_memory_alone(body in prop::collection::vec(likely(), 1..24)) {
        let mut program = vec![Insn::new(0xbf, 6, 1, 0, 0), Insn::new(0xbf, 7, 2, 0, 0)];
        program.extend(body.into_iter().filter(|insn| !insn.is_call()));
        program.push(Insn::new(insn::EXIT, 0, 0, 0, 0));
        let mut host = [0x5a_u8; 48];
        let (_, rest) = host.split_at_mut(16);
        let (memory, _) = rest.split_at_mut(16);
        run_bare(program, memory);
        prop_assert!(host[..16].iter().chain(&host[32..]).all(|byte| *byte == 0x5a));
    }
}
