//! Classic BPF: what a program answers, in plain Rust and translated on the engine.

use filter::Field;
use filter::language::classic::{Classic, Program, Site};
use spec::asm::Reg::{R1, R2, R6, R10};
use spec::asm::{Assembler, Object, Size};
use spec::{Input, ProgramKind, Runtime, Spec, Verdict};
use vm::VmRuntime;

/// Longest program; libpcap's are of some tens of instructions.
const MOST: usize = 256;

/// Any instructions are refused with a reason, or answer the same translated for a packet that
/// follows them in the input.
pub fn classic(bytes: &[u8]) {
    let Some((count, rest)) = bytes.split_first() else { return };
    let (code, packet) = rest.split_at((usize::from(*count) * 8).min(rest.len()));
    let instructions: Vec<Classic> =
        code.as_chunks().0.iter().take(MOST).map(instruction).collect();
    let Ok(program) = Program::new(&instructions) else { return };
    let mut packet = packet.to_vec();
    packet.resize(packet.len().clamp(14, 1514), 0);
    let wanted = program.matches(&packet, packet.len() as u32);
    let mut runtime = VmRuntime::default();
    let spec = translation(&program);
    runtime.load(&spec).unwrap_or_else(|error| panic!("{instructions:?}: {error}"));
    let input = Input { packet, ..Input::default() };
    let found = runtime.run(NAME, &input).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.verdict == Verdict::Pass, wanted, "{instructions:?} on {input:02x?}");
}

fn instruction(raw: &[u8; 8]) -> Classic {
    let [c0, c1, jump_true, jump_false, k0, k1, k2, k3] = *raw;
    let code = u16::from_le_bytes([c0, c1]);
    Classic { code, jump_true, jump_false, k: u32::from_le_bytes([k0, k1, k2, k3]) }
}

const NAME: &str = "expression";

/// A program that passes what matches.
fn translation(program: &Program) -> Spec {
    const CONTEXT: i16 = -8;
    /// Bytes of `struct filter_packet`, and a few more.
    const PACKET: i16 = CONTEXT - 128;
    let mut asm = Assembler::new(NAME, ProgramKind::XDP);
    let [matched, unmatched] = [asm.label(), asm.label()];
    asm.store64(R10.at(CONTEXT), R1).mov(R6, R1).packet(R1, R2, R6).sub(R2, R1);
    asm.store(Size::Word, R10.at(PACKET + Field::Length.place().offset), R2);
    asm.mov(R6, R10).add(R6, PACKET);
    let (context, memory) = (R10.at(CONTEXT), PACKET - Program::MEMORY);
    program.append(&mut asm, Site { packet: R6, context, memory, matched, unmatched });
    asm.bind(matched).verdict(Verdict::Pass).bind(unmatched).verdict(Verdict::Drop);
    let mut object = Object::new(NAME, "GPL");
    object.program(asm);
    object.finish().expect("both labels are bound")
}
