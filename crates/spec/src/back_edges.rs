//! Programs with loops for kernels before Linux 6.7.
//!
//! Their verifier takes a loop only if the edge that closes it, as it walks the code, is a jump.
//! Where a compiler laid out a loop so that its last instruction runs into its first one, the
//! program is refused (`back-edge from insn`). A jump to the next instruction makes the edge one
//! that is accepted; the kernel removes such jumps after the verification, so they cost nothing.
//!
//! Rule: the program does the same. Not here: when this is necessary (`kernel`).

use crate::compose::{distance, refers_to_function, with_distance};
use crate::disasm::slots;
use crate::insn::{CALL, CLASS_JMP, EXIT, Insn, JA};
use crate::model::Program;

/// The program with a jump in each place where another instruction may close a loop;
/// `None` if there is no such place, or a jump would become too long.
pub fn with_jumps(program: &Program) -> Option<Program> {
    let code = &program.insns;
    let places = places(code);
    if places.is_empty() {
        return None;
    }
    let moved = |slot: usize| slot + places.partition_point(|place| *place <= slot);
    let mut insns = Vec::with_capacity(code.len() + places.len());
    let mut second = false;
    for (slot, insn) in code.iter().enumerate() {
        if places.binary_search(&slot).is_ok() {
            insns.push(Insn::new(CLASS_JMP | JA, 0, 0, 0, 0));
        }
        insns.push(if second { *insn } else { redirected(*insn, slot, moved)? });
        second = insn.is_wide() && !second;
    }
    let mut program = Program { insns, ..program.clone() };
    program.fixups.iter_mut().for_each(|one| one.slot = moved(one.slot));
    program.functions.iter_mut().for_each(|one| one.slot = moved(one.slot));
    program.lines.iter_mut().for_each(|one| one.slot = moved(one.slot));
    program.unresolved.iter_mut().for_each(|one| one.slot = moved(one.slot));
    Some(program)
}

/// The instruction of a slot with its distances after the move.
fn redirected(insn: Insn, slot: usize, moved: impl Fn(usize) -> usize) -> Option<Insn> {
    let new = |far: i64| {
        let target = usize::try_from(slot as i64 + 1 + far).ok()?;
        Some(moved(target) as i64 - moved(slot) as i64 - 1)
    };
    if refers_to_function(insn) {
        return Some(Insn { imm: i32::try_from(new(insn.imm.into())?).ok()?, ..insn });
    }
    match distance(insn) {
        Some(far) => with_distance(insn, new(far)?),
        None => Some(insn),
    }
}

/// Slots that some jump leads to, that the instruction before runs into, and that are in a loop
/// with that instruction.
fn places(code: &[Insn]) -> Vec<usize> {
    let mut targets = vec![false; code.len()];
    for slot in slots(code) {
        if let Some(target) = jump(code, slot) {
            targets[target] = true;
        }
    }
    let groups = groups(code);
    let runs =
        slots(code).filter(|slot| distance(code[*slot]).is_none() && code[*slot].code != EXIT);
    let edges = runs.map(|slot| (slot, next(code, slot)));
    let closes = |(from, to): &(usize, usize)| {
        *to < code.len() && targets[*to] && groups[*from] == groups[*to]
    };
    edges.filter(closes).map(|(_, to)| to).collect()
}

/// The slot after an instruction.
fn next(code: &[Insn], slot: usize) -> usize {
    slot + 1 + usize::from(code[slot].is_wide())
}

/// The target of a jump.
fn jump(code: &[Insn], slot: usize) -> Option<usize> {
    let far = distance(code[slot])?;
    usize::try_from(slot as i64 + 1 + far).ok().filter(|target| *target < code.len())
}

/// Slots that may run after an instruction of the same function.
fn successors(code: &[Insn], slot: usize) -> [Option<usize>; 2] {
    let insn = code[slot];
    let ends = insn.code == EXIT || is_goto(insn);
    let after = Some(next(code, slot)).filter(|after| !ends && *after < code.len());
    [after, jump(code, slot)]
}

fn is_goto(insn: Insn) -> bool {
    insn.code != CALL && distance(insn).is_some() && insn.code & OPERATION == JA
}

/// For each slot, the number of its strongly connected component (Tarjan, without recursion).
fn groups(code: &[Insn]) -> Vec<usize> {
    let mut state =
        Components { index: vec![0; code.len()], low: vec![0; code.len()], ..<_>::default() };
    state.group = vec![usize::MAX; code.len()];
    for root in slots(code) {
        if state.index[root] == 0 {
            state.visit(code, root);
        }
    }
    state.group
}

#[derive(Default)]
struct Components {
    /// Order of the first visit, from 1; 0 for slots that were not visited.
    index: Vec<usize>,
    low: Vec<usize>,
    group: Vec<usize>,
    /// Visited slots without a component.
    open: Vec<usize>,
    visited: usize,
    groups: usize,
}

impl Components {
    fn visit(&mut self, code: &[Insn], root: usize) {
        // A slot, and the number of its successors that were followed.
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((slot, followed)) = path.last_mut() {
            let (slot, number) = (*slot, *followed);
            *followed += 1;
            match successors(code, slot).get(number) {
                Some(Some(next)) if self.index[*next] == 0 => {
                    self.enter(*next);
                    path.push((*next, 0));
                }
                Some(Some(next)) if self.group[*next] == usize::MAX => {
                    self.low[slot] = self.low[slot].min(self.index[*next]);
                }
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some((above, _)) = path.last() {
                        self.low[*above] = self.low[*above].min(self.low[slot]);
                    }
                    self.close(slot);
                }
            }
        }
    }

    fn enter(&mut self, slot: usize) {
        self.visited += 1;
        (self.index[slot], self.low[slot]) = (self.visited, self.visited);
        self.open.push(slot);
    }

    /// Ends the component whose first slot this is.
    fn close(&mut self, slot: usize) {
        if self.low[slot] != self.index[slot] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.group[member] = self.groups;
            if member == slot {
                break;
            }
        }
        self.groups += 1;
    }
}

/// The bits of a jump's code that name its condition.
const OPERATION: u8 = 0xf0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::Reg::*;
    use crate::asm::{Assembler, Cond};
    use crate::model::ProgramKind;

    fn program(write: impl FnOnce(&mut Assembler)) -> Program {
        let mut a = Assembler::new("main", ProgramKind::XDP);
        write(&mut a);
        a.finish().unwrap()
    }

    #[test]
    fn a_loop_that_is_entered_in_its_middle_gets_a_jump() {
        let given = program(|a| {
            let [head, latch, done] = [a.label(), a.label(), a.label()];
            a.mov(R0, 0).jump(head);
            a.bind(latch).add(R0, 1);
            a.bind(head).jump_if(R0, Cond::Ge, 8, done).jump(latch);
            a.bind(done).exit();
        });
        let changed = with_jumps(&given).unwrap();
        let expected = program(|a| {
            let [head, latch, done] = [a.label(), a.label(), a.label()];
            a.mov(R0, 0).jump(head);
            a.bind(latch).add(R0, 1).raw(Insn::new(CLASS_JMP | JA, 0, 0, 0, 0));
            a.bind(head).jump_if(R0, Cond::Ge, 8, done).jump(latch);
            a.bind(done).exit();
        });
        assert_eq!(changed.insns, expected.insns);
        assert_eq!(with_jumps(&changed), None, "once is enough");
    }

    #[test]
    fn other_code_is_not_changed() {
        let plain = program(|a| {
            let [head, done] = [a.label(), a.label()];
            a.mov(R0, 0).bind(head).add(R0, 1).jump_if(R0, Cond::Lt, 8, head);
            a.jump_if(R0, Cond::Eq, 8, done).mov(R0, 1).bind(done).exit();
        });
        // `head` is entered by running into it from outside of the loop.
        assert_eq!(with_jumps(&plain), None);
    }

    #[test]
    fn calls_and_wide_instructions_keep_their_targets() {
        let write = |a: &mut Assembler, extra: bool| {
            let [head, latch, done, inner] = [a.label(), a.label(), a.label(), a.label()];
            a.mov(R6, 0).jump(head);
            a.bind(latch).load_imm64(R7, 7).call_local(inner).add(R6, 1);
            if extra {
                a.raw(Insn::new(CLASS_JMP | JA, 0, 0, 0, 0));
            }
            a.bind(head).jump_if(R6, Cond::Ge, 8, done).jump(latch);
            a.bind(done).mov(R0, R6).exit();
            a.function(inner, "inner").mov(R0, 1).exit();
        };
        let [given, expected] = [false, true].map(|extra| program(|a| write(a, extra)));
        let changed = with_jumps(&given).unwrap();
        assert_eq!(changed.insns, expected.insns);
        assert_eq!(changed.functions, expected.functions);
    }
}
