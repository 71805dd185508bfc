//! Flow of labels through single instructions.

use spec::insn::{self, Insn};

use super::Taint;
use super::label::Label;
use crate::memory::{RegionId, offset};
use crate::processor::Step;

impl Taint {
    /// Handles an instruction that is neither a call nor an exit.
    pub(super) fn flow(&mut self, step: &Step<'_>) {
        let Some(insn) = step.program.source().insns.get(step.slot).copied() else { return };
        match insn.class() {
            insn::CLASS_ALU | insn::CLASS_ALU64 => self.arithmetic(insn),
            insn::CLASS_JMP | insn::CLASS_JMP32 => self.jump(step, insn),
            insn::CLASS_LD => self.constant(step, insn),
            insn::CLASS_LDX => self.load(step, insn),
            insn::CLASS_ST => self.store(step, insn, Label::NONE),
            _ if insn.code & 0xe0 == insn::MODE_ATOMIC => self.atomic(step, insn),
            _ => {
                let label = self.label(insn.src);
                self.store(step, insn, label);
            }
        }
    }

    fn arithmetic(&mut self, insn: Insn) {
        let from_register = insn.code & insn::FROM_REG != 0;
        let operation = insn.code & 0xf0;
        let whole = insn.class() == insn::CLASS_ALU64 && insn.off == 0;
        let old = self.label(insn.dst);
        let other = match operation {
            insn::NEG | insn::END => Label::NONE,
            _ if from_register => self.label(insn.src),
            _ => Label::NONE,
        };
        let same = from_register && insn.src == insn.dst;
        let both = old.as_data() | other.as_data();
        let label = match operation {
            insn::MOV if whole => other,
            insn::MOV => other.as_data(),
            insn::SUB | insn::XOR if same => Label::NONE,
            insn::AND if !from_register && insn.imm == 0 => Label::NONE,
            insn::ADD if whole && !(old.is_pointer() && other.is_pointer()) => old | other,
            insn::SUB if whole && old.is_pointer() && other.is_pointer() => {
                old.without_pointer() | other.without_pointer()
            }
            insn::SUB if whole && !other.is_pointer() => old | other,
            _ => both,
        };
        self.set(insn.dst, label);
    }

    fn jump(&mut self, step: &Step<'_>, insn: Insn) {
        if matches!(insn.code & 0xf0, insn::JA | insn::JCOND) {
            return;
        }
        let from_register = insn.code & insn::FROM_REG != 0;
        let old = self.label(insn.dst);
        let other = if from_register { self.label(insn.src) } else { Label::NONE };
        // Comparing two addresses, or one with null, has the same result everywhere.
        let is_null = !from_register && insn.imm == 0;
        let alike = is_null || old.is_pointer() == other.is_pointer();
        let label = match alike {
            true => old.without_pointer() | other.without_pointer(),
            false => old.as_data() | other.as_data(),
        };
        self.branch_on(step, label);
    }

    fn constant(&mut self, step: &Step<'_>, insn: Insn) {
        let value = step.program.ops()[step.slot].imm;
        let is_named = insn.src != 0 || step.program.source().fixup_at(step.slot).is_some();
        if is_named && let Some(map) = self.map_at(value) {
            self.used.push(map);
        }
        let label = if is_named && value != 0 { Label::POINTER } else { Label::NONE };
        self.set(insn.dst, label);
    }

    fn load(&mut self, step: &Step<'_>, insn: Insn) {
        let address = address(step, insn.src, insn);
        let len = width(insn);
        let base = self.label(insn.src).without_pointer();
        if RegionId::of(address) == RegionId::CONTEXT {
            let is_packet = offset(address) < 12;
            return self.set(insn.dst, if is_packet { Label::POINTER } else { Label::NONE });
        }
        let held = self.shadow.read(address, len);
        let held = if len == 8 { held } else { held.as_data() };
        let map = self.map_at(address).map_or(Label::NONE, |map| self.map(map));
        self.set(insn.dst, held | base | map);
    }

    fn store(&mut self, step: &Step<'_>, insn: Insn, label: Label) {
        let address = address(step, insn.dst, insn);
        let label = if width(insn) == 8 { label } else { label.as_data() };
        self.stored(insn.dst, (address, width(insn)), label);
    }

    /// Marks bytes that are written through a register.
    fn stored(&mut self, base: u8, (address, len): (u64, usize), label: Label) {
        let base = self.label(base).without_pointer();
        self.shadow.write(address, len, label | base | self.control);
        // Another runtime may write elsewhere.
        if !base.is_empty() {
            match self.map_at(address) {
                Some(map) => self.doubt(map, base),
                None => self.control |= base,
            }
        }
    }

    fn atomic(&mut self, step: &Step<'_>, insn: Insn) {
        let (len, imm) = (width(insn), insn.imm);
        if imm == insn::LOAD_ACQUIRE {
            return self.load(step, insn);
        }
        let value = self.label(insn.src);
        if imm == insn::STORE_RELEASE {
            return self.store(step, insn, value);
        }
        let address = address(step, insn.dst, insn);
        let map = self.map_at(address).map_or(Label::NONE, |map| self.map(map));
        let old = self.shadow.read(address, len) | map;
        let new = match imm {
            insn::XCHG => value,
            insn::CMPXCHG => {
                let expected = self.label(0);
                self.set(0, old);
                old | value | expected
            }
            _ => old | value,
        };
        self.stored(insn.dst, (address, len), new);
        if imm & insn::FETCH != 0 && imm != insn::CMPXCHG {
            self.set(insn.src, old);
        }
    }
}

fn address(step: &Step<'_>, register: u8, insn: Insn) -> u64 {
    step.registers[usize::from(register).min(10)].wrapping_add(insn.off as i64 as u64)
}

fn width(insn: Insn) -> usize {
    match insn.code & 0x18 {
        insn::SIZE_B => 1,
        insn::SIZE_H => 2,
        insn::SIZE_W => 4,
        _ => 8,
    }
}
