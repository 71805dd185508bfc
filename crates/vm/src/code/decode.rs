//! From instructions to operations: what needs no run is checked and resolved here.
//!
//! Every slot becomes one operation, so that a slot is a place in both. What the kernel refuses
//! for its form alone (unknown codes, reserved fields, jumps out of the program) is an error
//! that names the slot; what is only wrong when it runs becomes a trap.

use spec::Target;
use spec::insn::{self, Insn};

use super::op::{Kind, Op, Reg};
use super::{Callee, Link, forms};
use crate::error::{Error, Result};
use crate::helpers;
use crate::memory::RegionId;

/// What a program decodes to.
pub(super) struct Decoded {
    /// One a slot, and a trap behind the end.
    pub ops: Vec<Op>,
    pub calls: Vec<Callee>,
    pub traps: Vec<String>,
}

pub(super) fn decode(source: &spec::Program, link: &Link<'_>) -> Result<Decoded> {
    let decoded = Decoded { ops: Vec::new(), calls: Vec::new(), traps: Vec::new() };
    let mut decoder = Decoder { source, link, decoded, slot: 0 };
    decoder.program()?;
    Ok(decoder.decoded)
}

/// An answer, or what is wrong in words.
type Word<T> = std::result::Result<T, String>;

struct Decoder<'a> {
    source: &'a spec::Program,
    link: &'a Link<'a>,
    decoded: Decoded,
    slot: usize,
}

impl Decoder<'_> {
    fn program(&mut self) -> Result<()> {
        let insns = &self.source.insns;
        if insns.is_empty() {
            return Err(self.error("there are no instructions".to_owned()));
        }
        while self.slot < insns.len() {
            let op = match self.unresolved() {
                Some(trap) => trap,
                None => self.insn(insns[self.slot])?,
            };
            self.decoded.ops.push(op);
            self.slot += 1;
            if insns[self.slot - 1].is_wide() {
                let trap = self.trap("the second half of a wide load is no instruction");
                self.decoded.ops.push(trap);
                self.slot += 1;
            }
        }
        let end = self.trap("control runs over the end of the program");
        self.decoded.ops.push(end);
        Ok(())
    }

    /// A trap where a field relocation found no answer: an error only when it is reached.
    fn unresolved(&mut self) -> Option<Op> {
        let unresolved = &self.source.unresolved;
        let row = unresolved.binary_search_by_key(&self.slot, |one| one.slot).ok()?;
        Some(self.trap(&format!("an unresolved field: {}", unresolved[row].text)))
    }

    fn insn(&mut self, insn: Insn) -> Result<Op> {
        if insn.is_call() && insn.src == 0 {
            return self.helper(insn.imm);
        }
        if let Some(target) = self.source.fixup_at(self.slot) {
            return self.fixed(insn, target.clone());
        }
        self.plain(insn).map_err(|why| self.error(why))
    }

    fn plain(&mut self, insn: Insn) -> Word<Op> {
        if insn.dst > 10 || insn.src > 10 {
            return Err("there are registers r0 to r10".to_owned());
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

    fn jump(&mut self, insn: Insn) -> Word<Op> {
        match insn.code {
            insn::CALL if insn.src == insn::PSEUDO_CALL => {
                let target = self.target(insn.imm.into())?;
                Ok(Op { off: target, ..Op::new(Kind::CallLocal) })
            }
            insn::CALL => Err("calls a function that nothing names".to_owned()),
            CALLX => {
                // Older compilers put the register's number into the immediate.
                let register = if insn.imm != 0 { insn.imm } else { insn.dst.into() };
                let dst = u8::try_from(register).ok().filter(|register| *register <= 10);
                let dst = dst.ok_or("there are registers r0 to r10")?;
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
                    return Err(forms::reserved());
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
    fn target(&self, distance: i64) -> Word<i32> {
        let insns = &self.source.insns;
        let target = self.slot as i64 + 1 + distance;
        let place = usize::try_from(target).ok().filter(|place| *place < insns.len());
        let place = place.ok_or_else(|| format!("goes to {target}, outside the program"))?;
        // A second half never looks like a first one: its code is 0.
        if place > 0 && insns[place - 1].is_wide() {
            return Err(format!("goes to {target}, into a wide load"));
        }
        i32::try_from(place).map_err(|_| "the program is too long".to_owned())
    }

    // ---- constants and names ----------------------------------------------------------------

    fn wide(&mut self, insn: Insn) -> Word<Op> {
        if !insn.is_wide() {
            return Err("packets are read through pointers here: no legacy access".to_owned());
        }
        let high = self.second_half()?;
        match insn.src {
            0 => forms::wide(insn, u64::from(insn.imm as u32) | u64::from(high) << 32),
            insn::PSEUDO_FUNC => {
                let target = self.target(insn.imm.into())?;
                forms::wide(insn, self.link.function(target as usize))
            }
            _ => Err("loads an address that nothing names".to_owned()),
        }
    }

    fn second_half(&self) -> Word<u32> {
        let second = self.source.insns.get(self.slot + 1).ok_or("a wide load is cut short")?;
        if (second.code, second.dst, second.src, second.off) != (0, 0, 0, 0) {
            return Err(forms::reserved());
        }
        Ok(second.imm as u32)
    }

    /// What the runtime has to supply.
    fn fixed(&mut self, insn: Insn, target: Target) -> Result<Op> {
        if insn.is_wide() {
            self.second_half().map_err(|why| self.error(why))?;
        }
        let address = match target {
            Target::Map { map } => {
                self.link.map(map).map(|map| RegionId::MAPS.at(map.facts().number.into()))
            }
            Target::MapValue { map, offset } => self.link.value(map, offset),
            Target::Kfunc { name, weak, .. } => return self.kfunc(&name, weak),
            Target::KfuncAddress { name, weak, .. } => match helpers::kfunc(&name) {
                Some(call) => Some(self.link.kernel_function(self.row(&name, call))),
                None if weak => Some(0),
                None => return Err(self.missing(&name, helpers::why_no_kfunc(&name))),
            },
            Target::Ksym { weak: true, .. } => Some(0),
            Target::Ksym { name, .. } => {
                return Err(self.missing(&name, "there are no kernel variables"));
            }
            // Resolved (or trapped) by now: the instruction says it all.
            Target::Field(_) => return self.plain(insn).map_err(|why| self.error(why)),
        };
        let address = address.ok_or_else(|| self.error("names a map that is not there".to_owned()));
        forms::wide(insn, address?).map_err(|why| self.error(why))
    }

    fn helper(&mut self, number: i32) -> Result<Op> {
        if number == TAIL_CALL {
            return Ok(Op::new(Kind::TailCall));
        }
        let helper = spec::asm::Helper(number as u32);
        let name = helper.name().map_or_else(|| format!("helper {number}"), str::to_owned);
        match helpers::helper(helper.0) {
            Some(call) => {
                let imm = self.row(&name, call) as u64;
                Ok(Op { imm, ..Op::new(Kind::Call) })
            }
            None => Err(self.missing(&name, helpers::why_no_helper(helper))),
        }
    }

    fn kfunc(&mut self, name: &str, weak: bool) -> Result<Op> {
        match helpers::kfunc(name) {
            Some(call) => {
                let imm = self.row(name, call) as u64;
                Ok(Op { imm, ..Op::new(Kind::Call) })
            }
            None if weak => Ok(self.trap(&format!("calls {name}, which is not there"))),
            None => Err(self.missing(name, helpers::why_no_kfunc(name))),
        }
    }

    /// The row of a function in the program's calls, new or known.
    fn row(&mut self, name: &str, call: helpers::Call) -> usize {
        let calls = &mut self.decoded.calls;
        calls.iter().position(|callee| callee.name == name).unwrap_or_else(|| {
            calls.push(Callee { name: name.to_owned(), call });
            calls.len() - 1
        })
    }

    fn trap(&mut self, why: &str) -> Op {
        let traps = &mut self.decoded.traps;
        let row = traps.iter().position(|known| known == why).unwrap_or_else(|| {
            traps.push(why.to_owned());
            traps.len() - 1
        });
        Op { imm: row as u64, ..Op::new(Kind::Trap) }
    }

    fn error(&self, why: String) -> Error {
        Error::Code { program: self.source.name.clone(), slot: self.slot, why }
    }

    fn missing(&self, function: &str, why: &str) -> Error {
        Error::Function {
            program: self.source.name.clone(),
            slot: self.slot,
            function: function.to_owned(),
            why: why.to_owned(),
        }
    }
}

const TAIL_CALL: i32 = spec::asm::Helper::TAIL_CALL.0 as i32;
const CALLX: u8 = insn::CALL | insn::FROM_REG;
const GOTO: u8 = insn::CLASS_JMP | insn::JA;
const GOTO_LONG: u8 = insn::CLASS_JMP32 | insn::JA;
const MAY_GOTO: u8 = insn::CLASS_JMP | insn::JCOND;
