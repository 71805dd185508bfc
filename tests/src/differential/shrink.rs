//! Makes a case smaller while something stays true of it.
//!
//! Instructions become jumps to the next one, so that all distances stay right; what the verifier
//! then refuses is not taken.

use spec::{Insn, Program};

use super::case::Case;

/// Smaller by packets, programs' instructions and bytes, as long as `holds`.
pub fn shrink(mut case: Case, holds: impl Fn(&Case) -> bool) -> Case {
    packets(&mut case, &holds);
    loop {
        let before = instructions(&case);
        for program in 0..case.spec.programs.len() {
            erase(&mut case, program, &holds);
        }
        if instructions(&case) == before {
            break;
        }
    }
    packets(&mut case, &holds);
    case
}

/// Instructions that do something.
fn instructions(case: &Case) -> usize {
    let all = case.spec.programs.iter().flat_map(|program| &program.insns);
    all.filter(|insn| **insn != NOTHING).count()
}

/// Leaves out packets, last first, and cuts those that stay.
fn packets(case: &mut Case, holds: &impl Fn(&Case) -> bool) {
    for number in (0..case.packets.len()).rev() {
        let mut smaller = case.clone();
        smaller.packets.remove(number);
        attempt(case, smaller, holds);
    }
    for number in 0..case.packets.len() {
        for len in [14, 60, 200] {
            let mut smaller = case.clone();
            smaller.packets[number].packet.truncate(len);
            attempt(case, smaller, holds);
        }
        let mut smaller = case.clone();
        smaller.packets[number].metadata.clear();
        attempt(case, smaller, holds);
    }
}

/// Erases stretches of instructions: long ones first, single ones last.
fn erase(case: &mut Case, program: usize, holds: &impl Fn(&Case) -> bool) {
    let len = case.spec.programs[program].insns.len();
    let mut stretch = len.next_power_of_two() / 2;
    while stretch > 0 {
        for start in (0..len).step_by(stretch) {
            let mut smaller = case.clone();
            blank(&mut smaller.spec.programs[program], start, stretch);
            if smaller.spec.programs[program] != case.spec.programs[program] {
                attempt(case, smaller, holds);
            }
        }
        stretch /= 2;
    }
}

/// Both slots of a wide load go together.
fn blank(program: &mut Program, start: usize, len: usize) {
    let second = |slot: usize| slot > 0 && program.insns[slot - 1].is_wide();
    let start = if second(start) { start - 1 } else { start };
    let end = (start + len).min(program.insns.len());
    let end = if end < program.insns.len() && second(end) { end + 1 } else { end };
    for slot in start..end {
        if program.insns[slot].code != spec::insn::EXIT {
            program.insns[slot] = NOTHING;
        }
    }
    program.fixups.retain(|fixup| !(start..end).contains(&fixup.slot));
}

fn attempt(case: &mut Case, smaller: Case, holds: &impl Fn(&Case) -> bool) {
    if holds(&smaller) {
        *case = smaller;
    }
}

/// `goto +0`
pub const NOTHING: Insn = Insn::new(0x05, 0, 0, 0, 0);
