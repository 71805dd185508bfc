//! Invalid programs, and the results of programs, in Rust and translated on the engine.

use spec::asm::Reg::{R1, R2, R6, R10};
use spec::asm::{Assembler, Object, Size};
use spec::{Input, ProgramKind, Runtime, Spec, Verdict};
use vm::VmRuntime;

use super::*;
use crate::Field;

const fn insn(code: u16, jump_true: u8, jump_false: u8, k: u32) -> Classic {
    Classic { code, jump_true, jump_false, k }
}

const NO: Classic = insn(0x06, 0, 0, 0);
const YES: Classic = insn(0x06, 0, 0, 262_144);

/// `udp[10:2] = 1`, as libpcap compiles it.
const PAYLOAD: [Classic; 11] = [
    insn(0x28, 0, 0, 12),
    insn(0x15, 0, 8, 0x800),
    insn(0x30, 0, 0, 23),
    insn(0x15, 0, 6, 17),
    insn(0x28, 0, 0, 20),
    insn(0x45, 4, 0, 0x1fff),
    insn(0xb1, 0, 0, 14),
    insn(0x48, 0, 0, 24),
    insn(0x15, 0, 1, 1),
    YES,
    NO,
];

fn matches(program: &[Classic], frame: &[u8]) -> bool {
    Program::new(program).unwrap().matches(frame, frame.len() as u32)
}

/// Passes what matches, on the engine.
struct Translated(VmRuntime);

impl Translated {
    fn new(program: &[Classic]) -> Self {
        let mut runtime = VmRuntime::default();
        runtime.load(&translation(program)).unwrap_or_else(|error| panic!("{program:?}: {error}"));
        Self(runtime)
    }

    fn matches(&mut self, frame: &[u8]) -> bool {
        let input = Input { packet: frame.to_vec(), ..Input::default() };
        self.0.run("expression", &input).unwrap().verdict == Verdict::Pass
    }
}

fn translation(program: &[Classic]) -> Spec {
    const CONTEXT: i16 = -8;
    const PACKET: i16 = CONTEXT - 104;
    let mut asm = Assembler::new("expression", ProgramKind::XDP);
    let [matched, unmatched] = [asm.label(), asm.label()];
    asm.store64(R10.at(CONTEXT), R1).mov(R6, R1).packet(R1, R2, R6).sub(R2, R1);
    asm.store(Size::Word, R10.at(PACKET + Field::Length.place().offset), R2);
    asm.mov(R6, R10).add(R6, PACKET);
    let (context, memory) = (R10.at(CONTEXT), PACKET - Program::MEMORY);
    let site = Site { packet: R6, context, memory, matched, unmatched };
    Program::new(program).unwrap().append(&mut asm, site);
    asm.bind(matched).verdict(Verdict::Pass).bind(unmatched).verdict(Verdict::Drop);
    let mut object = Object::new("expression", "GPL");
    object.program(asm);
    object.finish().unwrap()
}

#[test]
fn invalid_programs_are_errors() {
    let table: [(&[Classic], Error); 17] = [
        (&[], Error::Length(0)),
        (&[YES; 4097], Error::Length(4097)),
        (&[insn(0x28, 0, 0, 12)], Error::End),
        (&[insn(0x05, 0, 0, u32::MAX), YES], Error::Jump { at: 0 }),
        (&[insn(0x05, 0, 0, 1), YES], Error::Jump { at: 0 }),
        (&[insn(0x15, 1, 0, 1), YES], Error::Jump { at: 0 }),
        (&[insn(0x15, 0, 1, 1), YES], Error::Jump { at: 0 }),
        (&[insn(0x28, 0, 0, 0xffff_f004), YES], Error::Ancillary),
        (&[insn(0x34, 0, 0, 0), YES], Error::Division { at: 0 }),
        (&[insn(0x94, 0, 0, 0), YES], Error::Division { at: 0 }),
        (&[insn(0x64, 0, 0, 32), YES], Error::Shift { at: 0 }),
        (&[insn(0x02, 0, 0, 16), YES], Error::Memory { at: 0, word: 16 }),
        (&[insn(0x60, 0, 0, 3), YES], Error::Memory { at: 0, word: 3 }),
        // Written on one of two paths.
        (
            &[insn(0x15, 0, 1, 7), insn(0x02, 0, 0, 3), insn(0x60, 0, 0, 3), YES],
            Error::Memory { at: 2, word: 3 },
        ),
        (&[insn(0x38, 0, 0, 0), YES], Error::Unknown { at: 0, code: 0x38 }),
        (&[insn(0x0e, 0, 0, 0), YES], Error::Unknown { at: 0, code: 0x0e }),
        (&[insn(0x29, 0, 0, 0), YES], Error::Unknown { at: 0, code: 0x29 }),
    ];
    for (program, error) in table {
        assert_eq!(Program::new(program), Err(error), "{program:?}");
    }
    let memory = [insn(0x02, 0, 0, 3), insn(0x60, 0, 0, 3), YES];
    assert!(Program::new(&memory).unwrap().has_memory());
    assert!(!Program::new(&PAYLOAD).unwrap().has_memory());
}

#[test]
fn a_load_behind_the_end_is_no_match() {
    let mut frame = vec![0; 14];
    frame[12] = 0x08;
    frame.extend([0x46, 0, 0, 36, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0; 4 + 8 + 2]);
    frame.extend([0, 1]);
    let mut translated = Translated::new(&PAYLOAD);
    assert!(matches(&PAYLOAD, &frame) && translated.matches(&frame));
    for length in 14..frame.len() {
        let cut = &frame[..length];
        assert!(!matches(&PAYLOAD, cut) && !translated.matches(cut), "{length} bytes");
    }
    frame[14] = 0x45;
    let elsewhere = matches(&PAYLOAD, &frame) || translated.matches(&frame);
    assert!(!elsewhere, "without options it is elsewhere");
    // A matching packet needs no bytes that no way asks for.
    assert!(matches(&[YES], &[]));
}

#[test]
fn arithmetic_is_that_of_32_bits() {
    // A and X, an operation with X, and what A is then; nothing where it does not match.
    let table = [
        (0x0c, u32::MAX, 2, Some(1)),
        (0x1c, 1, 2, Some(u32::MAX)),
        (0x2c, 0x8000_0001, 2, Some(2)),
        (0x3c, 7, 2, Some(3)),
        (0x3c, 7, 0, None),
        (0x4c, 5, 2, Some(7)),
        (0x5c, 7, 2, Some(2)),
        (0x6c, 1, 31, Some(0x8000_0000)),
        (0x6c, 1, 32, Some(0)),
        (0x7c, u32::MAX, 31, Some(1)),
        (0x7c, u32::MAX, 33, Some(0)),
        (0x84, 1, 0, Some(u32::MAX)),
        (0x9c, 7, 4, Some(3)),
        (0x9c, 7, 0, None),
        (0xac, 7, 5, Some(2)),
    ];
    for (code, a, x, want) in table {
        let set = [insn(0x00, 0, 0, a), insn(0x01, 0, 0, x), insn(code, 0, 0, 0)];
        for guess in [want.unwrap_or(0), want.unwrap_or(0).wrapping_add(1)] {
            let compare = [insn(0x15, 0, 1, guess), YES, NO];
            let program: Vec<_> = set.into_iter().chain(compare).collect();
            let is_equal = want == Some(guess);
            let by = [matches(&program, &[]), Translated::new(&program).matches(&[0; 14])];
            assert_eq!(by, [is_equal; 2], "{code:#x} {a:#x} {x:#x} = {guess:#x}");
        }
    }
}

#[test]
fn bounds_are_checked_once() {
    let spec = translation(&PAYLOAD);
    let above = |insn: &&spec::Insn| insn.code == 0x2d;
    // One for the frame up to the fragment's offset, one for the bytes after its header.
    assert_eq!(spec.programs[0].insns.iter().filter(above).count(), 2, "{spec:?}");
}

#[test]
fn what_always_or_never_matches_is_translated() {
    let (first, load) = (insn(0x00, 0, 0, 0), insn(0x30, 0, 0, 0));
    for (program, answer) in [
        (&[YES][..], true),
        (&[NO], false),
        (&[first, NO], false),
        (&[load, NO], false),
        (&[load, YES], true),
        (&[insn(0x05, 0, 0, 1), NO, YES], true),
        (&[insn(0x02, 0, 0, 3), insn(0x60, 0, 0, 3), insn(0x16, 0, 0, 0)], false),
        (
            &[
                insn(0x80, 0, 0, 0),
                insn(0x02, 0, 0, 3),
                insn(0x61, 0, 0, 3),
                insn(0x87, 0, 0, 0),
                insn(0x15, 0, 1, 14),
                YES,
                NO,
            ],
            true,
        ),
        (&[insn(0xb1, 0, 0, 13), insn(0x87, 0, 0, 0), insn(0x15, 0, 1, 60), YES, NO], true),
        (&[insn(0xb1, 0, 0, 14), YES], false),
    ] {
        let frame = [0xff; 14];
        assert_eq!(matches(program, &frame), answer, "{program:?}");
        assert_eq!(Translated::new(program).matches(&frame), answer, "{program:?}");
    }
}
