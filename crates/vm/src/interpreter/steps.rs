//! The loop that executes operations: one line for each kind.
//!
//! Rule: memory is accessed only through `Memory`; a refused access first tries the context,
//! which is not in memory, and then becomes a fault. The loop is one function on purpose: the
//! compiler then keeps program counter and tables in machine registers.

use std::hint::select_unpredictable as select;

use spec::asm::Helper;

use super::alu::Word;
use super::frames;
use super::report::report;
use super::{Leave, Registers, address, atomic, locate};
use crate::code::{Kind, Op, Program};
use crate::fault::{Cause, Fault};
use crate::memory::{POISON, Refused, RegionId, offset};
use crate::processor::{Call, Executable, Processor};

/// Executes from `slot` until the program is left.
pub(super) fn steps<const TRACED: bool>(
    processor: &mut Processor,
    executable: &Executable,
    slot: usize,
    r: &mut Registers,
    base: usize,
) -> Result<Leave, Box<Fault>> {
    let program = &*executable.program;
    let ops = if TRACED { program.ops() } else { program.fast_ops() };
    let mut pc = slot;
    let mut last = None;
    loop {
        if TRACED {
            report(processor, executable, pc, r, &mut last);
        }
        let op = ops[pc];
        let (dst, src) = (op.dst.index(), op.src.index());
        pc += 1;
        macro_rules! alu {
            (k64 $act:ident) => {
                r[dst] = Word::$act(r[dst], op.imm)
            };
            (x64 $act:ident) => {
                r[dst] = Word::$act(r[dst], r[src])
            };
            (k32 $act:ident) => {
                r[dst] = u64::from(Word::$act(r[dst] as u32, op.imm as u32))
            };
            (x32 $act:ident) => {
                r[dst] = u64::from(Word::$act(r[dst] as u32, r[src] as u32))
            };
        }
        macro_rules! holds {
            (k64 $is:ident) => {
                Word::$is(r[dst], op.imm)
            };
            (x64 $is:ident) => {
                Word::$is(r[dst], r[src])
            };
            (k32 $is:ident) => {
                Word::$is(r[dst] as u32, op.imm as u32)
            };
            (x32 $is:ident) => {
                Word::$is(r[dst] as u32, r[src] as u32)
            };
        }
        macro_rules! back {
            () => {{
                if let Err(spent) = processor.frames.spend((pc - op.target()) as u64) {
                    return Err(locate(spent.fault(), program, pc - 1, None));
                }
                pc = op.target();
            }};
        }
        macro_rules! branch {
            ($form:ident $is:ident) => { pc = select(holds!($form $is), op.target(), pc) };
            ($form:ident $is:ident back) => { if holds!($form $is) { back!() } };
        }
        macro_rules! load {
            ($load:ident, $len:expr, $as:ty) => {{
                let address = address(r, op.src, op);
                r[dst] = match processor.memory.$load(address) {
                    Ok(value) => value as $as as u64,
                    Err(Refused) => match other_load(processor, address, $len) {
                        Ok(value) => value as $as as u64,
                        Err(fault) => return Err(locate(fault, program, pc - 1, Some(op.src))),
                    },
                };
            }};
        }
        macro_rules! checked {
            ($result:expr, $register:expr, $len:expr, $write:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(Refused) => {
                        let address = address(r, $register, op);
                        let fault = refused(processor, address, $len, $write);
                        return Err(locate(fault, program, pc - 1, Some($register)));
                    }
                }
            };
        }
        macro_rules! store {
            ($store:ident, $word:ty, $value:expr) => {{
                let stored = processor.memory.$store(address(r, op.dst, op), $value as $word);
                checked!(stored, op.dst, size_of::<$word>(), true)
            }};
        }
        macro_rules! acquire {
            ($len:expr) => {{
                let loaded = atomic::load_acquire(&processor.memory, address(r, op.src, op), $len);
                r[dst] = checked!(loaded, op.src, $len, false);
            }};
        }
        macro_rules! release {
            ($len:expr) => {{
                let place = address(r, op.dst, op);
                let stored = atomic::store_release(&mut processor.memory, place, $len, r[src]);
                checked!(stored, op.dst, $len, true)
            }};
        }
        match op.kind {
            Kind::Add64K => alu!(k64 add),
            Kind::Add64X => alu!(x64 add),
            Kind::Add32K => alu!(k32 add),
            Kind::Add32X => alu!(x32 add),
            Kind::Sub64K => alu!(k64 sub),
            Kind::Sub64X => alu!(x64 sub),
            Kind::Sub32K => alu!(k32 sub),
            Kind::Sub32X => alu!(x32 sub),
            Kind::Mul64K => alu!(k64 mul),
            Kind::Mul64X => alu!(x64 mul),
            Kind::Mul32K => alu!(k32 mul),
            Kind::Mul32X => alu!(x32 mul),
            Kind::Div64K => alu!(k64 div),
            Kind::Div64X => alu!(x64 div),
            Kind::Div32K => alu!(k32 div),
            Kind::Div32X => alu!(x32 div),
            Kind::Sdiv64K => alu!(k64 sdiv),
            Kind::Sdiv64X => alu!(x64 sdiv),
            Kind::Sdiv32K => alu!(k32 sdiv),
            Kind::Sdiv32X => alu!(x32 sdiv),
            Kind::Or64K => alu!(k64 or),
            Kind::Or64X => alu!(x64 or),
            Kind::Or32K => alu!(k32 or),
            Kind::Or32X => alu!(x32 or),
            Kind::And64K => alu!(k64 and),
            Kind::And64X => alu!(x64 and),
            Kind::And32K => alu!(k32 and),
            Kind::And32X => alu!(x32 and),
            Kind::Lsh64K => alu!(k64 lsh),
            Kind::Lsh64X => alu!(x64 lsh),
            Kind::Lsh32K => alu!(k32 lsh),
            Kind::Lsh32X => alu!(x32 lsh),
            Kind::Rsh64K => alu!(k64 rsh),
            Kind::Rsh64X => alu!(x64 rsh),
            Kind::Rsh32K => alu!(k32 rsh),
            Kind::Rsh32X => alu!(x32 rsh),
            Kind::Mod64K => alu!(k64 rem),
            Kind::Mod64X => alu!(x64 rem),
            Kind::Mod32K => alu!(k32 rem),
            Kind::Mod32X => alu!(x32 rem),
            Kind::Smod64K => alu!(k64 srem),
            Kind::Smod64X => alu!(x64 srem),
            Kind::Smod32K => alu!(k32 srem),
            Kind::Smod32X => alu!(x32 srem),
            Kind::Xor64K => alu!(k64 xor),
            Kind::Xor64X => alu!(x64 xor),
            Kind::Xor32K => alu!(k32 xor),
            Kind::Xor32X => alu!(x32 xor),
            Kind::Mov64K => alu!(k64 mov),
            Kind::Mov64X => alu!(x64 mov),
            Kind::Mov32K => alu!(k32 mov),
            Kind::Mov32X => alu!(x32 mov),
            Kind::Arsh64K => alu!(k64 arsh),
            Kind::Arsh64X => alu!(x64 arsh),
            Kind::Arsh32K => alu!(k32 arsh),
            Kind::Arsh32X => alu!(x32 arsh),
            Kind::Jeq64K => branch!(k64 eq),
            Kind::Jeq64KBack => branch!(k64 eq back),
            Kind::Jeq64X => branch!(x64 eq),
            Kind::Jeq64XBack => branch!(x64 eq back),
            Kind::Jeq32K => branch!(k32 eq),
            Kind::Jeq32KBack => branch!(k32 eq back),
            Kind::Jeq32X => branch!(x32 eq),
            Kind::Jeq32XBack => branch!(x32 eq back),
            Kind::Jne64K => branch!(k64 ne),
            Kind::Jne64KBack => branch!(k64 ne back),
            Kind::Jne64X => branch!(x64 ne),
            Kind::Jne64XBack => branch!(x64 ne back),
            Kind::Jne32K => branch!(k32 ne),
            Kind::Jne32KBack => branch!(k32 ne back),
            Kind::Jne32X => branch!(x32 ne),
            Kind::Jne32XBack => branch!(x32 ne back),
            Kind::Jgt64K => branch!(k64 gt),
            Kind::Jgt64KBack => branch!(k64 gt back),
            Kind::Jgt64X => branch!(x64 gt),
            Kind::Jgt64XBack => branch!(x64 gt back),
            Kind::Jgt32K => branch!(k32 gt),
            Kind::Jgt32KBack => branch!(k32 gt back),
            Kind::Jgt32X => branch!(x32 gt),
            Kind::Jgt32XBack => branch!(x32 gt back),
            Kind::Jge64K => branch!(k64 ge),
            Kind::Jge64KBack => branch!(k64 ge back),
            Kind::Jge64X => branch!(x64 ge),
            Kind::Jge64XBack => branch!(x64 ge back),
            Kind::Jge32K => branch!(k32 ge),
            Kind::Jge32KBack => branch!(k32 ge back),
            Kind::Jge32X => branch!(x32 ge),
            Kind::Jge32XBack => branch!(x32 ge back),
            Kind::Jlt64K => branch!(k64 lt),
            Kind::Jlt64KBack => branch!(k64 lt back),
            Kind::Jlt64X => branch!(x64 lt),
            Kind::Jlt64XBack => branch!(x64 lt back),
            Kind::Jlt32K => branch!(k32 lt),
            Kind::Jlt32KBack => branch!(k32 lt back),
            Kind::Jlt32X => branch!(x32 lt),
            Kind::Jlt32XBack => branch!(x32 lt back),
            Kind::Jle64K => branch!(k64 le),
            Kind::Jle64KBack => branch!(k64 le back),
            Kind::Jle64X => branch!(x64 le),
            Kind::Jle64XBack => branch!(x64 le back),
            Kind::Jle32K => branch!(k32 le),
            Kind::Jle32KBack => branch!(k32 le back),
            Kind::Jle32X => branch!(x32 le),
            Kind::Jle32XBack => branch!(x32 le back),
            Kind::Jset64K => branch!(k64 set),
            Kind::Jset64KBack => branch!(k64 set back),
            Kind::Jset64X => branch!(x64 set),
            Kind::Jset64XBack => branch!(x64 set back),
            Kind::Jset32K => branch!(k32 set),
            Kind::Jset32KBack => branch!(k32 set back),
            Kind::Jset32X => branch!(x32 set),
            Kind::Jset32XBack => branch!(x32 set back),
            Kind::Jsgt64K => branch!(k64 sgt),
            Kind::Jsgt64KBack => branch!(k64 sgt back),
            Kind::Jsgt64X => branch!(x64 sgt),
            Kind::Jsgt64XBack => branch!(x64 sgt back),
            Kind::Jsgt32K => branch!(k32 sgt),
            Kind::Jsgt32KBack => branch!(k32 sgt back),
            Kind::Jsgt32X => branch!(x32 sgt),
            Kind::Jsgt32XBack => branch!(x32 sgt back),
            Kind::Jsge64K => branch!(k64 sge),
            Kind::Jsge64KBack => branch!(k64 sge back),
            Kind::Jsge64X => branch!(x64 sge),
            Kind::Jsge64XBack => branch!(x64 sge back),
            Kind::Jsge32K => branch!(k32 sge),
            Kind::Jsge32KBack => branch!(k32 sge back),
            Kind::Jsge32X => branch!(x32 sge),
            Kind::Jsge32XBack => branch!(x32 sge back),
            Kind::Jslt64K => branch!(k64 slt),
            Kind::Jslt64KBack => branch!(k64 slt back),
            Kind::Jslt64X => branch!(x64 slt),
            Kind::Jslt64XBack => branch!(x64 slt back),
            Kind::Jslt32K => branch!(k32 slt),
            Kind::Jslt32KBack => branch!(k32 slt back),
            Kind::Jslt32X => branch!(x32 slt),
            Kind::Jslt32XBack => branch!(x32 slt back),
            Kind::Jsle64K => branch!(k64 sle),
            Kind::Jsle64KBack => branch!(k64 sle back),
            Kind::Jsle64X => branch!(x64 sle),
            Kind::Jsle64XBack => branch!(x64 sle back),
            Kind::Jsle32K => branch!(k32 sle),
            Kind::Jsle32KBack => branch!(k32 sle back),
            Kind::Jsle32X => branch!(x32 sle),
            Kind::Jsle32XBack => branch!(x32 sle back),
            Kind::Neg64 => r[dst] = r[dst].wrapping_neg(),
            Kind::Neg32 => r[dst] = u64::from((r[dst] as u32).wrapping_neg()),
            Kind::Extend8To64 => r[dst] = r[src] as i8 as u64,
            Kind::Extend16To64 => r[dst] = r[src] as i16 as u64,
            Kind::Extend32To64 => r[dst] = r[src] as i32 as u64,
            Kind::Extend8To32 => r[dst] = u64::from(r[src] as i8 as u32),
            Kind::Extend16To32 => r[dst] = u64::from(r[src] as i16 as u32),
            Kind::Low16 => r[dst] = u64::from(r[dst] as u16),
            Kind::Low32 => r[dst] = u64::from(r[dst] as u32),
            Kind::Low64 => {}
            Kind::Swap16 => r[dst] = u64::from((r[dst] as u16).swap_bytes()),
            Kind::Swap32 => r[dst] = u64::from((r[dst] as u32).swap_bytes()),
            Kind::Swap64 => r[dst] = r[dst].swap_bytes(),
            Kind::Ja => pc = op.target(),
            Kind::JaBack => back!(),
            Kind::MayGoto | Kind::MayGotoBack if processor.frames.take_turn() => {}
            Kind::MayGoto => pc = op.target(),
            Kind::MayGotoBack => back!(),
            Kind::Load8 => load!(load8, 1, u64),
            Kind::Load16 => load!(load16, 2, u64),
            Kind::Load32 => load!(load32, 4, u64),
            Kind::Load64 => load!(load64, 8, u64),
            Kind::LoadSigned8 => load!(load8, 1, i8),
            Kind::LoadSigned16 => load!(load16, 2, i16),
            Kind::LoadSigned32 => load!(load32, 4, i32),
            Kind::Store8 => store!(store8, u8, r[src]),
            Kind::Store16 => store!(store16, u16, r[src]),
            Kind::Store32 => store!(store32, u32, r[src]),
            Kind::Store64 => store!(store64, u64, r[src]),
            Kind::StoreImm8 => store!(store8, u8, op.imm),
            Kind::StoreImm16 => store!(store16, u16, op.imm),
            Kind::StoreImm32 => store!(store32, u32, op.imm),
            Kind::StoreImm64 => store!(store64, u64, op.imm),
            Kind::Wide => {
                r[dst] = op.imm;
                pc += 1;
            }
            Kind::AtomicAdd32 => checked!(atomic::add32(processor, op, r), op.dst, 4, true),
            Kind::AtomicAdd64 => checked!(atomic::add64(processor, op, r), op.dst, 8, true),
            Kind::Atomic32 => checked!(atomic::word32(processor, op, r), op.dst, 4, true),
            Kind::Atomic64 => checked!(atomic::word64(processor, op, r), op.dst, 8, true),
            Kind::LoadAcquire8 => acquire!(1),
            Kind::LoadAcquire16 => acquire!(2),
            Kind::LoadAcquire32 => acquire!(4),
            Kind::LoadAcquire64 => acquire!(8),
            Kind::StoreRelease8 => release!(1),
            Kind::StoreRelease16 => release!(2),
            Kind::StoreRelease32 => release!(4),
            Kind::StoreRelease64 => release!(8),
            Kind::Call => {
                let call = executable.call(op.imm);
                if let Err(fault) = helper(processor, call, r) {
                    return Err(locate(fault, program, pc - 1, None));
                }
            }
            Kind::CallLocal => match frames::call(processor, program, (pc, op.target()), r) {
                Ok(()) => pc = op.target(),
                Err(fault) => return Err(locate(fault, program, pc - 1, None)),
            },
            Kind::CallRegister => match call_register(processor, program, pc, op, r) {
                Ok(next) => pc = next,
                Err(fault) => return Err(locate(fault, program, pc - 1, Some(op.dst))),
            },
            Kind::TailCall => {
                if let Some(leave) = frames::tail_call(processor, program, pc - 1, r)? {
                    return Ok(leave);
                }
            }
            Kind::Exit => match frames::exit(processor, pc, r, base) {
                None => return Ok(Leave::Done),
                Some((number, slot)) if number == program.number() => pc = slot,
                Some((program, slot)) => return Ok(Leave::Go { program, slot }),
            },
            Kind::MoveAdd => {
                r[dst] = r[src].wrapping_add(op.imm);
                pc += 1;
            }
            Kind::LookupArray => {
                if let Err(fault) = lookup_array(processor, executable, op, r) {
                    return Err(locate(fault, program, pc - 1, None));
                }
            }
            Kind::Trap => return Err(trap(program, op.imm, pc - 1)),
        }
    }
}

/// Calls a helper with r1 to r5, which are unset afterwards.
#[inline(always)]
fn helper(processor: &mut Processor, call: Call, r: &mut Registers) -> Result<(), Box<Fault>> {
    // Borrowed, not copied: a wide copy would stall on the registers just stored one by one.
    let args = r[1..].first_chunk().expect("there are sixteen registers");
    r[0] = call(processor, args)?;
    r[1..6].fill(POISON);
    Ok(())
}

/// Looks up an element in the array that decoding predicted; any other map or key is an ordinary
/// call.
#[inline(always)]
fn lookup_array(
    processor: &mut Processor,
    executable: &Executable,
    op: Op,
    r: &mut Registers,
) -> Result<(), Box<Fault>> {
    let array = executable.program.array(op.imm);
    let key = processor.memory.load32(r[2]);
    match key {
        Ok(key) if r[1] == array.pointer => {
            r[0] = array.value(processor.cpu, key);
            r[1..6].fill(POISON);
            Ok(())
        }
        _ => helper(processor, executable.call(array.callee), r),
    }
}

/// Calls a register's value: a function of this program by its address, or a helper by its
/// number. Returns the slot where execution continues.
#[cold]
fn call_register(
    processor: &mut Processor,
    program: &Program,
    back: usize,
    op: Op,
    r: &mut Registers,
) -> Result<usize, Box<Fault>> {
    let what = r[op.dst.index()];
    if let Some(slot) = frames::callee_at(program, what) {
        frames::call(processor, program, (back, slot), r)?;
        return Ok(slot);
    }
    let number = u32::try_from(what).ok();
    let found = number.and_then(|number| (processor.shared.functions.helper)(Helper(number)).ok());
    match found {
        Some(call) => helper(processor, call, r).map(|()| back),
        None => Err(Fault::new(Cause::CallTarget { address: what })),
    }
}

/// The fault of a trap operation.
#[cold]
fn trap(program: &Program, row: u64, slot: usize) -> Box<Fault> {
    locate(Fault::new(Cause::Trap(program.trap(row).clone())), program, slot, None)
}

/// A load outside memory: fields of the context are read here.
#[cold]
#[inline(never)]
fn other_load(processor: &mut Processor, address: u64, len: usize) -> Result<u64, Box<Fault>> {
    let field = match RegionId::of(address) {
        RegionId::CONTEXT => processor.load_context(offset(address), len),
        _ => Err(Refused),
    };
    field.map_err(|Refused| refused(processor, address, len, false))
}

#[cold]
#[inline(never)]
fn refused(processor: &Processor, address: u64, len: usize, write: bool) -> Box<Fault> {
    let why = processor.memory.explain(address, len, write);
    Fault::new(Cause::Access { address, len, write, why })
}
