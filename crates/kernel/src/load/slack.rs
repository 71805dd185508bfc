//! Room for programs that are bound to a device, so that the verifier never moves them.
//!
//! Linux remembers with the device where such a program is in memory. If the verifier, which
//! rewrites a program, makes it longer than its pages, it moves it and does not correct that place:
//! the removal of the device, or of its namespace, then reads freed memory with the lock of all
//! network configuration held (`bpf_prog_realloc()`, `__bpf_prog_offload_destroy()`, seen on Linux
//! 6.12 and 6.18). So such a program is loaded with instructions in front that never run. The
//! verifier removes these before it makes others longer.
//!
//! Rule: the first load has room for all that the verifier can add. It does not help to
//! load again after a move: the moved program counts among those of the device until the kernel
//! frees it, some time after the last descriptor is closed. Hiding constants (`bpf_jit_harden=2`)
//! moves every program, whatever its length, so nothing is bound then.

use std::os::fd::AsFd as _;

use spec::insn::{
    ADD, CLASS_ALU, CLASS_ALU64, CLASS_JMP, CLASS_LDX, CLASS_ST, CLASS_STX, DIV, EXIT, JCOND, JEQ,
    MOD, MOV, SIZE_DW, SUB,
};
use spec::{Insn, Program};
use sys::bpf::uapi::prog_type;
use sys::bpf::{self, ProgLoad};

/// Why nothing is bound to a device now.
pub(super) const HARDENED: &str = "net.core.bpf_jit_harden is 2: Linux then forgets where such \
                                    programs are in memory, and crashes when the device is \
                                    removed; set it to 1 or 0";

/// `r0 = 0`.
const ZERO: Insn = Insn::new(CLASS_ALU64 | MOV, 0, 0, 0, 0);
/// Instructions that one jump passes over.
const BLOCK: usize = 1 << 14;
/// Instructions of a page.
const PAGE: usize = 4096 / size_of::<u64>();
/// Where in its last page a program ends: the header, of less than this number of instructions,
/// does not start another one, and the rest is room for what the verifier adds before it removes.
const END_IN_PAGE: usize = 64;

/// The number of instructions to put before a program with these instructions, so that nothing
/// that the verifier adds moves it.
pub(super) fn first(insns: &[Insn]) -> usize {
    to_end_in_page(insns.len(), WHOLE_PROGRAM + insns.iter().map(added).sum::<usize>())
}

/// What the verifier adds to a program as a whole: the prologue of functions that count their
/// loops, and the callback of exceptions.
const WHOLE_PROGRAM: usize = 512;

/// The most instructions that a rewrite adds to one (`convert_ctx_accesses()`,
/// `do_misc_fixups()`), rounded up, because kernels differ.
fn added(insn: &Insn) -> usize {
    let (operation, size) = (insn.code & 0xf0, insn.code & 0x18);
    match insn.class() {
        // A field of the context that is read through two pointers, and narrowed by two more.
        CLASS_LDX if size != SIZE_DW => 5,
        // A barrier against speculation, for callers without `CAP_PERFMON`.
        CLASS_LDX | CLASS_ST | CLASS_STX => 1,
        // Division by zero, and the two signed quotients that processors fail on.
        CLASS_ALU | CLASS_ALU64 if matches!(operation, DIV | MOD) => 9,
        // Arithmetic on pointers, masked for callers without `CAP_PERFMON`.
        CLASS_ALU64 if matches!(operation, ADD | SUB) => 12,
        // A call that becomes a lookup or a loop in place.
        CLASS_JMP if insn.is_call() => 24,
        _ if operation == JCOND && insn.class() == CLASS_JMP => 12,
        _ => 0,
    }
}

/// The number for another attempt, after the program became this long.
pub(super) fn more(length: usize, translated: usize) -> usize {
    to_end_in_page(length, translated - length + translated / 2)
}

fn to_end_in_page(length: usize, room: usize) -> usize {
    let whole = (length + room).next_multiple_of(PAGE) + END_IN_PAGE;
    whole - length
}

/// The program after this number of instructions that never run.
pub(super) fn with_room(program: &Program, room: usize) -> Program {
    let before = code(room);
    let behind = |slot: &mut usize| *slot += before.len();
    let mut program = program.clone();
    program.fixups.iter_mut().for_each(|one| behind(&mut one.slot));
    // The first function, and its first line, begin with what is inserted.
    program.functions.iter_mut().filter(|one| one.slot > 0).for_each(|one| behind(&mut one.slot));
    program.lines.iter_mut().filter(|one| one.slot > 0).for_each(|one| behind(&mut one.slot));
    program.unresolved.iter_mut().for_each(|one| behind(&mut one.slot));
    program.insns.splice(0..0, before);
    program
}

/// This number of instructions. The verifier wants each to be reachable and sees that none of the
/// blocks runs: `r0 = 0; if r0 == 0 goto behind the block`.
fn code(room: usize) -> Vec<Insn> {
    let mut code = Vec::with_capacity(room);
    while room - code.len() >= 3 {
        let block = (room - code.len() - 2).min(BLOCK);
        let over = Insn::new(CLASS_JMP | JEQ, 0, 0, block as i16, 0);
        code.extend([ZERO, over]);
        code.extend(std::iter::repeat_n(ZERO, block));
    }
    code
}

/// Whether the kernel hides the constants of all programs. The setting itself can be read in the
/// first network namespace only, so this reads its effect: machine code becomes longer.
/// `false` if that cannot be seen, because then nothing else can be loaded either.
pub(crate) fn hides_constants() -> bool {
    let (constant, exit) = (Insn { imm: 0x5555_5555, ..ZERO }, Insn::new(EXIT, 0, 0, 0, 0));
    let mut insns = vec![constant; CONSTANTS];
    insns.push(exit);
    let insns = Insn::bytes(&insns);
    let kind = prog_type::SOCKET_FILTER;
    let load = ProgLoad { kind, license: "GPL", insns: &insns, ..Default::default() };
    let program = bpf::prog_load(&load, &mut []);
    let info = program.and_then(|program| bpf::prog_info(program.as_fd()));
    info.is_ok_and(|info| info.jited_len as usize > CONSTANTS * LONGEST_PLAIN)
}

const CONSTANTS: usize = 256;
/// Bytes that no machine needs to load a constant of 32 bits in the open, and all need to hide it.
const LONGEST_PLAIN: usize = 12;

#[cfg(test)]
mod tests {
    use spec::insn::{CALL, FROM_REG, MODE_MEM, SIZE_B, SIZE_W};
    use spec::{Function, Line};

    use super::*;

    #[test]
    fn a_program_ends_where_its_last_page_has_room() {
        for length in [1, 400, 511, 512, 5000, 100_000] {
            let room = first(&vec![ZERO; length]);
            assert!(room >= WHOLE_PROGRAM, "{length}");
            assert_eq!((length + room) % PAGE, END_IN_PAGE, "{length}");
            let translated = length + room + 700;
            assert!(length + more(length, translated) > translated, "{length}");
            assert_eq!(code(room).len(), room, "{length}");
        }
    }

    #[test]
    fn each_rewrite_has_room() {
        let load = |size| Insn::new(CLASS_LDX | size | MODE_MEM, 0, 1, 16, 0);
        let divide = Insn::new(CLASS_ALU | DIV | FROM_REG, 0, 1, 0, 0);
        let call = Insn::new(CALL, 0, 0, 0, 1);
        let may_goto = Insn::new(CLASS_JMP | JCOND, 0, 0, 1, 0);
        for (insn, least) in [(load(SIZE_W), 2), (load(SIZE_B), 4), (divide, 8), (call, 20)] {
            assert!(added(&insn) >= least, "{insn:?}");
        }
        assert!(added(&may_goto) >= 8);
        let insns = vec![load(SIZE_W); 1000];
        assert!(first(&insns) >= 2000);
        assert_eq!(added(&ZERO), 0);
    }

    #[test]
    fn all_that_counts_slots_moves_and_the_first_function_grows() {
        let function = |slot| Function { slot, ..Default::default() };
        let line = |slot| Line { slot, ..Default::default() };
        let program = Program {
            insns: vec![ZERO, Insn::new(EXIT, 0, 0, 0, 0), ZERO, Insn::new(EXIT, 0, 0, 0, 0)],
            functions: vec![function(0), function(2)],
            lines: vec![line(0), line(1), line(2)],
            ..Default::default()
        };
        let room = first(&program.insns);
        let moved = with_room(&program, room);
        assert_eq!(moved.insns[room..], program.insns);
        assert_eq!(moved.functions.iter().map(|one| one.slot).collect::<Vec<_>>(), [0, room + 2]);
        let lines: Vec<_> = moved.lines.iter().map(|one| one.slot).collect();
        assert_eq!(lines, [0, room + 1, room + 2]);
    }
}
