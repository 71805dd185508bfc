//! Counters in the basic blocks of a program: how often each instruction runs.
//!
//! ```text
//!  lock *(u64 *)(r_a + 0) += r_b      r_a = the block's counter, r_b = 1
//!  the block as it was
//! ```
//!
//! Rule: the program gives the same verdicts and leaves the same bytes. A counter uses two
//! registers that hold nothing at the beginning of its block; where there are not two, it saves
//! others below the function's stack. Programs that are reached by tail calls are programs of their
//! own, which are counted if they are named. Not here: which program arrays hold them.

use std::collections::BTreeSet;

use super::inline::{depth, distance};
use super::liveness::{Registers, live_before};
use super::parts::{Inserted, Part, put_together, take_apart};
use super::{Error, no_program};
use crate::disasm::slots;
use crate::insn::{
    ADD, CLASS_ALU64, CLASS_LDX, CLASS_STX, EXIT, Insn, LD_IMM64, MODE_ATOMIC, MODE_MEM, MOV,
    SIZE_DW,
};
use crate::model::{Fixup, MapDef, MapKind, Program, Spec, Target};

/// The map with the counters, which are numbers of 64 bits in the one entry of an array.
pub const HITS_MAP: &str = "xway_hits";

/// Programs whose blocks are counted.
#[derive(Clone, Debug)]
pub struct CountedBlocks {
    /// The object with the programs in their old places.
    pub spec: Spec,
    /// The blocks of each program in the order of their slots.
    pub blocks: Vec<Vec<Block>>,
}

/// Instructions that run one after the other, by their slots in the program as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first slot.
    pub start: usize,
    /// The slot after the last one.
    pub end: usize,
    /// Number of the counter; `None` if there is no place for what it would have to save.
    pub counter: Option<usize>,
}

/// Counts each basic block of these programs and of their functions in [`HITS_MAP`].
///
/// # Errors
/// [`Error::NoProgram`], [`Error::Composed`] if the blocks are counted already, [`Error::TooLong`];
/// `spec` is untouched.
pub fn count_blocks(spec: &Spec, programs: &[&str]) -> Result<CountedBlocks, Error> {
    if spec.map(HITS_MAP).is_some() {
        let program = programs.first().copied().unwrap_or_default().to_owned();
        return Err(Error::Composed { program, map: HITS_MAP });
    }
    let (map, mut counters) = (spec.maps.len(), 0);
    let (mut spec, mut blocks) = (spec.clone(), Vec::new());
    for program in programs {
        let (new, own) = counted_program(&spec, program, map, &mut counters)?;
        if let Some(place) = spec.programs.iter_mut().find(|old| old.name == *program) {
            *place = new;
        }
        blocks.push(own);
    }
    spec.maps.push(MapDef {
        name: HITS_MAP.to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: BYTES * counters.max(1) as u32,
        max_entries: 1,
        ..MapDef::default()
    });
    Ok(CountedBlocks { spec, blocks })
}

/// A program with its counters in the map with this number, and its blocks.
fn counted_program(
    spec: &Spec,
    program: &str,
    map: usize,
    counters: &mut usize,
) -> Result<(Program, Vec<Block>), Error> {
    let old = spec.program(program).ok_or_else(|| no_program(spec, program))?;
    let (mut parts, mut blocks) = (take_apart(old), Vec::new());
    for part in &mut parts {
        let counted = counted(part, map, counters);
        let first = part.function.slot;
        blocks.extend(counted.blocks.into_iter().map(|block| Block {
            start: block.start + first,
            end: block.end + first,
            ..block
        }));
        let too_long = || Error::TooLong { program: program.to_owned() };
        part.precede_each(&counted.codes).ok_or_else(too_long)?;
    }
    Ok((put_together(old, parts), blocks))
}

/// The blocks of a function, and the code that counts them.
struct CountedPart {
    blocks: Vec<Block>,
    codes: Vec<Inserted>,
}

fn counted(part: &Part, map: usize, counters: &mut usize) -> CountedPart {
    let starts = starts(&part.insns);
    let ends = starts.iter().skip(1).copied().chain([part.insns.len()]);
    let (live, room) = (live_before(&part.insns), depth(&part.insns));
    let (mut blocks, mut codes) = (Vec::new(), Vec::new());
    for (start, end) in starts.iter().copied().zip(ends) {
        let target = Target::MapValue { map, offset: *counters as u32 * BYTES };
        let code = counter(live[start], room);
        let counter = code.is_some().then_some(*counters);
        blocks.push(Block { start, end, counter });
        if let Some((insns, slot)) = code {
            codes.push(Inserted { slot: start, insns, fixups: vec![Fixup { slot, target }] });
            *counters += 1;
        }
    }
    CountedPart { blocks, codes }
}

/// The first slots of blocks: of the function, where jumps lead, and after jumps.
fn starts(code: &[Insn]) -> Vec<usize> {
    let mut starts = BTreeSet::from([0]);
    for slot in slots(code) {
        let far = distance(code[slot]);
        let target = far.and_then(|far| usize::try_from(slot as i64 + 1 + far).ok());
        starts.extend(target);
        if target.is_some() || code[slot].code == EXIT {
            starts.insert(slot + 1);
        }
    }
    starts.into_iter().filter(|slot| *slot < code.len()).collect()
}

/// The code of a counter, and the slot in it that refers to the counter. `live` are registers that
/// it must keep, `room` the bytes of stack that the function uses.
fn counter(live: Registers, room: Option<i16>) -> Option<(Vec<Insn>, usize)> {
    let is_free = |register: &u8| live & 1 << register == 0;
    let mut registers: Vec<u8> = (0..FRAME).filter(is_free).take(2).collect();
    let free = registers.len();
    // Arguments of calls are taken for live even if the function has fewer, and then hold nothing
    // that could be saved.
    registers.extend(KEPT.filter(|register| !is_free(register)).take(2 - free));
    let [address, one] = registers[..] else { return None };
    let saved = &registers[free..];
    let bytes = match saved.len() {
        0 => 0,
        number => room?.checked_add(8 * number as i16).filter(|bytes| *bytes <= STACK)?,
    };
    let place = |number: usize| -(bytes - 8 * number as i16);
    let saves = saved.iter().enumerate().map(|(number, register)| {
        Insn::new(CLASS_STX | SIZE_DW | MODE_MEM, FRAME, *register, place(number), 0)
    });
    let loads = saved.iter().enumerate().map(|(number, register)| {
        Insn::new(CLASS_LDX | SIZE_DW | MODE_MEM, *register, FRAME, place(number), 0)
    });
    let count = [
        Insn::new(LD_IMM64, address, 0, 0, 0),
        Insn::new(0, 0, 0, 0, 0),
        Insn::new(CLASS_ALU64 | MOV, one, 0, 0, 1),
        Insn::new(CLASS_STX | SIZE_DW | MODE_ATOMIC, address, one, 0, ADD.into()),
    ];
    Some((saves.chain(count).chain(loads).collect(), saved.len()))
}

/// The register with the address of the stack.
const FRAME: u8 = 10;
/// Registers that calls do not change.
const KEPT: std::ops::RangeInclusive<u8> = 6..=9;
/// Bytes of stack that one frame may have.
const STACK: i16 = 512;
/// Bytes of a counter.
const BYTES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::{Assembler, Cond, Object, Reg::*};
    use crate::model::ProgramKind;

    fn counted(write: impl FnOnce(&mut Assembler)) -> CountedBlocks {
        let mut a = Assembler::new("one", ProgramKind::XDP);
        write(&mut a);
        let mut object = Object::new("counted", "GPL");
        object.program(a);
        count_blocks(&object.finish().unwrap(), &["one"]).unwrap()
    }

    fn ranges(counted: &CountedBlocks) -> Vec<(usize, usize)> {
        counted.blocks[0].iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn blocks_begin_where_jumps_lead_and_after_them() {
        let counted = counted(|a| {
            let [head, end] = [a.label(), a.label()];
            a.mov(R0, 0).bind(head).jump_if(R0, Cond::Ge, 8, end).add(R0, 1).jump(head);
            a.bind(end).exit();
        });
        assert_eq!(ranges(&counted), [(0, 1), (1, 2), (2, 4), (4, 5)]);
        assert_eq!(counted.blocks[0].iter().filter_map(|block| block.counter).count(), 4);
        let program = &counted.spec.programs[0];
        assert_eq!(program.insns.len(), 5 + 4 * 4);
        assert_eq!(counted.spec.map(HITS_MAP).unwrap().value_size, 32);
        // The jump back leads to the counter of the head.
        let back = program.insns[program.insns.len() - 6];
        assert_eq!((distance(back), back.code & 0xf0), (Some(-11), 0));
    }

    #[test]
    fn what_is_live_is_saved_where_the_stack_has_room() {
        let all = (0..10).fold(0, |all, register| all | 1 << register);
        let (code, slot) = counter(all, Some(16)).unwrap();
        assert_eq!((code.len(), slot), (8, 2));
        assert_eq!([code[0].off, code[1].off], [-32, -24]);
        assert_eq!([code[6].off, code[7].off], [-32, -24]);
        assert_eq!(counter(all, Some(504)), None);
        assert_eq!(counter(all, None), None);
        let (code, slot) = counter(all & !1, Some(504)).unwrap();
        assert_eq!((code.len(), slot, code[0].off), (6, 1, -512));
        assert_eq!(counter(0, Some(512)).unwrap().0.len(), 4);
    }

    #[test]
    fn programs_have_different_counters_in_one_map() {
        let mut object = Object::new("counted", "GPL");
        for name in ["one", "two"] {
            let mut a = Assembler::new(name, ProgramKind::XDP);
            let end = a.label();
            a.mov(R0, 2).jump_if(R1, Cond::Eq, 0, end).mov(R0, 1).bind(end).exit();
            object.program(a);
        }
        let spec = object.finish().unwrap();
        let counted = count_blocks(&spec, &["two", "one"]).unwrap();
        let numbers = |of: &Vec<Block>| of.iter().filter_map(|one| one.counter).collect::<Vec<_>>();
        let [two, one] = [0, 1].map(|at| numbers(&counted.blocks[at]));
        assert_eq!((two, one), (vec![0, 1, 2], vec![3, 4, 5]));
        assert_eq!(counted.spec.map(HITS_MAP).unwrap().value_size, 6 * BYTES);
        let offsets = |name: &str| {
            let fixups = counted.spec.program(name).unwrap().fixups.iter();
            fixups.map(|one| match one.target {
                Target::MapValue { offset, .. } => offset,
                _ => panic!("{one:?}"),
            })
        };
        assert!(offsets("one").eq([24, 32, 40]) && offsets("two").eq([0, 8, 16]));
        let error = count_blocks(&spec, &["one", "three"]).unwrap_err();
        assert!(matches!(error, Error::NoProgram { .. }), "{error}");
    }

    #[test]
    fn blocks_are_not_counted_twice() {
        let counted = counted(|a| _ = a.mov(R0, 2).exit());
        let error = count_blocks(&counted.spec, &["one"]).unwrap_err();
        assert!(matches!(error, Error::Composed { map: HITS_MAP, .. }), "{error}");
    }
}
