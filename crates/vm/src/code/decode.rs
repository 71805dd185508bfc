//! Decoding: from instructions to operations, with all checks that need no run.
//!
//! Each slot becomes one operation, so a slot number means the same in both. What the kernel
//! refuses for its form alone (unknown codes, reserved fields, jumps out of the program) is an
//! error that names the slot; what is wrong only when it executes becomes a trap.

use spec::Target;
use spec::insn::{self, Insn};

use super::op::{Kind, Op, Reg};
use super::{Link, forms};
use crate::error::{Error, InvalidInsn, Result, Unavailable};
use crate::fault::Trap;
use crate::memory::RegionId;

/// A decoded program; `C` is what the caller's table of functions holds.
pub(super) struct Decoded<C> {
    /// One operation per slot, and a trap after the end.
    pub ops: Vec<Op>,
    /// Names of the functions that the program calls.
    pub callees: Vec<String>,
    /// Table entries of the functions, in the order of `callees`.
    pub calls: Vec<C>,
    /// Reasons of the trap operations.
    pub traps: Vec<Trap>,
}

/// Decodes a program against the maps and functions of `link`.
pub(super) fn decode<C: Copy>(source: &spec::Program, link: &Link<'_, C>) -> Result<Decoded<C>> {
    let decoded =
        Decoded { ops: Vec::new(), callees: Vec::new(), calls: Vec::new(), traps: Vec::new() };
    let mut decoder = Decoder { source, link, decoded, slot: 0 };
    decoder.program()?;
    Ok(decoder.decoded)
}

type Checked<T> = std::result::Result<T, InvalidInsn>;

struct Decoder<'a, C> {
    source: &'a spec::Program,
    link: &'a Link<'a, C>,
    decoded: Decoded<C>,
    slot: usize,
}

impl<C: Copy> Decoder<'_, C> {
    fn program(&mut self) -> Result<()> {
        let insns = &self.source.insns;
        if insns.is_empty() {
            return Err(self.error(InvalidInsn::NoInstructions));
        }
        while self.slot < insns.len() {
            let op = match self.unresolved() {
                Some(trap) => trap,
                None => self.insn(insns[self.slot])?,
            };
            self.decoded.ops.push(op);
            self.slot += 1;
            if insns[self.slot - 1].is_wide() {
                let trap = self.trap(Trap::WideLoad);
                self.decoded.ops.push(trap);
                self.slot += 1;
            }
        }
        let end = self.trap(Trap::End);
        self.decoded.ops.push(end);
        Ok(())
    }

    /// A trap for a field relocation that was not resolved: an error only if it executes.
    fn unresolved(&mut self) -> Option<Op> {
        let unresolved = &self.source.unresolved;
        let row = unresolved.binary_search_by_key(&self.slot, |one| one.slot).ok()?;
        Some(self.trap(Trap::UnresolvedField(unresolved[row].text.clone())))
    }

    fn insn(&mut self, insn: Insn) -> Result<Op> {
        if insn.is_call() && insn.src == 0 {
            return self.helper(insn.imm);
        }
        if let Some(target) = self.source.fixup_at(self.slot) {
            return self.fixed(insn, target.clone());
        }
        self.plain(insn).map_err(|cause| self.error(cause))
    }

    fn plain(&mut self, insn: Insn) -> Checked<Op> {
        if insn.dst > 10 || insn.src > 10 {
            return Err(InvalidInsn::Register);
        }
        match insn.class() {
            insn::CLASS_ALU | insn::CLASS_ALU64 => forms::alu(insn),
            insn::CLASS_JMP | insn::CLASS_JMP32 => self.jump(insn),
            insn::CLASS_LD => self.wide(insn),
            insn::CLASS_LDX => forms::load(insn),
            insn::CLASS_ST => forms::store_imm(insn),
            _ => forms::store(insn),
        }
    }

    // ---- jumps ------------------------------------------------------------------------------

    fn jump(&mut self, insn: Insn) -> Checked<Op> {
        match insn.code {
            insn::CALL if insn.src == insn::PSEUDO_CALL => {
                let target = self.target(insn.imm.into())?;
                Ok(Op { off: target, ..Op::new(Kind::CallLocal) })
            }
            insn::CALL => Err(InvalidInsn::UnnamedFunction),
            CALLX => {
                // Older compilers put the register's number into the immediate.
                let register = if insn.imm != 0 { insn.imm } else { insn.dst.into() };
                let dst = u8::try_from(register).ok().filter(|register| *register <= 10);
                let dst = dst.ok_or(InvalidInsn::Register)?;
                Ok(Op { dst: Reg::of(dst), ..Op::new(Kind::CallRegister) })
            }
            insn::EXIT => Ok(Op::new(Kind::Exit)),
            MAY_GOTO if insn.dst == 0 && insn.src == 0 && insn.imm == 0 => {
                let off = self.target(insn.off.into())?;
                let kind = if self.is_back(off) { Kind::MayGotoBack } else { Kind::MayGoto };
                Ok(Op { off, ..Op::new(kind) })
            }
            GOTO | GOTO_LONG => {
                let far = insn.code == GOTO_LONG;
                let distance = if far { insn.imm.into() } else { insn.off.into() };
                if insn.dst != 0
                    || insn.src != 0
                    || (if far { insn.off != 0 } else { insn.imm != 0 })
                {
                    return Err(InvalidInsn::Reserved);
                }
                let off = self.target(distance)?;
                let kind = if self.is_back(off) { Kind::JaBack } else { Kind::Ja };
                Ok(Op { off, ..Op::new(kind) })
            }
            _ => {
                let off = self.target(insn.off.into())?;
                forms::branch(insn, off, self.is_back(off))
            }
        }
    }

    fn is_back(&self, target: i32) -> bool {
        target as usize <= self.slot
    }

    /// The slot at a distance; it must be the start of an instruction.
    fn target(&self, distance: i64) -> Checked<i32> {
        let insns = &self.source.insns;
        let target = self.slot as i64 + 1 + distance;
        let place = usize::try_from(target).ok().filter(|place| *place < insns.len());
        let place = place.ok_or(InvalidInsn::JumpOutside { target })?;
        // A second half never looks like a first one: its code is 0.
        if place > 0 && insns[place - 1].is_wide() {
            return Err(InvalidInsn::JumpIntoWideLoad { target });
        }
        i32::try_from(place).map_err(|_| InvalidInsn::TooLong)
    }

    // ---- constants and names ----------------------------------------------------------------

    fn wide(&mut self, insn: Insn) -> Checked<Op> {
        if !insn.is_wide() {
            return Err(InvalidInsn::LegacyAccess);
        }
        let high = self.second_half()?;
        match insn.src {
            0 => forms::wide(insn, u64::from(insn.imm as u32) | u64::from(high) << 32),
            insn::PSEUDO_FUNC => {
                let target = self.target(insn.imm.into())?;
                forms::wide(insn, self.link.function(target as usize))
            }
            _ => Err(InvalidInsn::UnnamedAddress),
        }
    }

    fn second_half(&self) -> Checked<u32> {
        let second = self.source.insns.get(self.slot + 1).ok_or(InvalidInsn::Truncated)?;
        if (second.code, second.dst, second.src, second.off) != (0, 0, 0, 0) {
            return Err(InvalidInsn::Reserved);
        }
        Ok(second.imm as u32)
    }

    /// An instruction whose value the runtime supplies.
    fn fixed(&mut self, insn: Insn, target: Target) -> Result<Op> {
        if insn.is_wide() {
            self.second_half().map_err(|cause| self.error(cause))?;
        }
        let address = match target {
            Target::Map { map } => {
                self.link.map(map).map(|map| RegionId::MAPS.at(map.attributes().number.into()))
            }
            Target::MapValue { map, offset } => self.link.value(map, offset),
            Target::Kfunc { name, weak, .. } => return self.kfunc(&name, weak),
            Target::KfuncAddress { name, weak, .. } => match (self.link.functions.kfunc)(&name) {
                Ok(call) => Some(self.link.kernel_function(self.row(&name, call))),
                Err(_) if weak => Some(0),
                Err(cause) => return Err(self.unavailable(&name, cause)),
            },
            Target::Ksym { weak: true, .. } => Some(0),
            Target::Ksym { name, .. } => {
                return Err(self.unavailable(&name, Unavailable::KernelVariable));
            }
            // Relocation has already changed the instruction, or made it a trap.
            Target::Field(_) => return self.plain(insn).map_err(|cause| self.error(cause)),
        };
        let address = address.ok_or_else(|| self.error(InvalidInsn::UnknownMap));
        forms::wide(insn, address?).map_err(|cause| self.error(cause))
    }

    fn helper(&mut self, number: i32) -> Result<Op> {
        if number == TAIL_CALL {
            return Ok(Op::new(Kind::TailCall));
        }
        let helper = spec::asm::Helper(number as u32);
        let name = helper.name().map_or_else(|| format!("helper {number}"), str::to_owned);
        match (self.link.functions.helper)(helper) {
            Ok(call) => Ok(self.call(&name, call)),
            Err(cause) => Err(self.unavailable(&name, cause)),
        }
    }

    fn kfunc(&mut self, name: &str, weak: bool) -> Result<Op> {
        match (self.link.functions.kfunc)(name) {
            Ok(call) => Ok(self.call(name, call)),
            Err(_) if weak => Ok(self.trap(Trap::MissingFunction(name.to_owned()))),
            Err(cause) => Err(self.unavailable(name, cause)),
        }
    }

    fn call(&mut self, name: &str, call: C) -> Op {
        Op { imm: self.row(name, call) as u64, ..Op::new(Kind::Call) }
    }

    /// Row of a function in the program's callees; adds it if it is new.
    fn row(&mut self, name: &str, call: C) -> usize {
        let Decoded { callees, calls, .. } = &mut self.decoded;
        callees.iter().position(|callee| callee == name).unwrap_or_else(|| {
            callees.push(name.to_owned());
            calls.push(call);
            callees.len() - 1
        })
    }

    fn trap(&mut self, trap: Trap) -> Op {
        let traps = &mut self.decoded.traps;
        let row = traps.iter().position(|known| *known == trap).unwrap_or_else(|| {
            traps.push(trap);
            traps.len() - 1
        });
        Op { imm: row as u64, ..Op::new(Kind::Trap) }
    }

    fn error(&self, cause: InvalidInsn) -> Error {
        Error::Code { program: self.source.name.clone(), slot: self.slot, cause }
    }

    fn unavailable(&self, function: &str, cause: Unavailable) -> Error {
        Error::Function {
            program: self.source.name.clone(),
            slot: self.slot,
            function: function.to_owned(),
            cause,
        }
    }
}

const TAIL_CALL: i32 = spec::asm::Helper::TAIL_CALL.0 as i32;
const CALLX: u8 = insn::CALL | insn::FROM_REG;
const GOTO: u8 = insn::CLASS_JMP | insn::JA;
const GOTO_LONG: u8 = insn::CLASS_JMP32 | insn::JA;
const MAY_GOTO: u8 = insn::CLASS_JMP | insn::JCOND;
