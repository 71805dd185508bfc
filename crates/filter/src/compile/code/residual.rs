//! Code for residual rules, whose fields are compared directly.
//!
//! Rule: the code does the same as `Residual::resolve`, load for load, without a branch within a
//! rule: a test that fails makes R0 negative. A rule in memory:
//!
//! ```text
//!   0  FINAL, number of the rule, LAST     4  bits of `known` that it needs
//!   8  per field: first value, and last minus first; or mask and value of both halves
//! ```

use spec::asm::Reg::{R0, R1, R3, R4, R5};
use spec::asm::{Cond, Label};

use super::Code;
use super::value::{HIGH, LOW, load};
use crate::Field;
use crate::compile::plan::{FINAL, NO_RULE, Residual, ResidualRule};

/// The bit in the number of the last rule of a list.
const LAST: u32 = Residual::LIST & !FINAL;

impl Code<'_> {
    /// Resolves a final state in R0 to the number of a rule with the bit `FINAL`, or to `NO_RULE`.
    pub(super) fn residual(&mut self, residual: &Residual) {
        if residual.is_empty() {
            return;
        }
        let [held, none, done] = std::array::from_fn(|_| self.asm.label());
        self.asm.note("residual rules");
        self.asm.jump32_if(R0, Cond::Eq, NO_RULE.cast_signed(), done);
        self.asm.jump32_if(R0, Cond::Lt, Residual::LIST.cast_signed(), done);
        let bytes = residual
            .rules
            .iter()
            .flat_map(|rule| self.rule_bytes(&residual.fields, rule))
            .collect();
        let place = self.data.table(bytes, residual.rules.len(), Residual::LONGEST);
        let stride = i32::try_from(residual.stride()).expect("some bytes");
        self.asm.and32(R0, place.mask).mul(R0, stride);
        self.point(place);
        self.asm.add(R4, R0);
        for following in (0..Residual::LONGEST).rev() {
            self.residual_rule(residual, held);
            if following > 0 {
                let a = self.asm.load32(R1, R4.at(0));
                a.jump32_if(R1, Cond::Set, LAST.cast_signed(), none).add(R4, stride);
            }
        }
        let a = self.asm.bind(none).mov32(R0, NO_RULE.cast_signed()).jump(done);
        a.bind(held).load32(R0, R4.at(0)).and32(R0, (!LAST).cast_signed()).bind(done);
    }

    /// Jumps to `held` if the rule at R4 holds.
    fn residual_rule(&mut self, residual: &Residual, held: Label) {
        let unsure = residual.fields.iter().fold(0, |known, field| known | self.unsure(*field));
        if unsure == 0 {
            self.asm.mov(R0, 0);
        } else {
            self.known(R5).xor32(R5, -1).load32(R1, R4.at(4)).and(R5, R1).mov(R0, 0).sub(R0, R5);
        }
        let mut at = 8;
        for field in &residual.fields {
            self.holds(*field, at);
            at += Residual::width(*field) as i16;
        }
        self.asm.jump_if(R0, Cond::Sge, 0, held);
    }

    /// Makes R0 negative unless a field is in the range at an offset from R4.
    fn holds(&mut self, field: Field, at: i16) {
        let a = &mut self.asm;
        load(a, field);
        if field.bits() <= 32 {
            a.load32(R1, R4.at(at)).load32(R3, R4.at(at + 4));
        } else if field.bits() <= 64 {
            a.load64(R1, R4.at(at)).load64(R3, R4.at(at + 8));
        }
        if field.bits() <= 64 {
            // Both differences must not be negative.
            a.sub(LOW, R1).or(R0, LOW).sub(R3, LOW).or(R0, R3);
        } else {
            a.load64(R3, R4.at(at)).and(HIGH, R3).load64(R3, R4.at(at + 8)).xor(HIGH, R3);
            a.load64(R3, R4.at(at + 16)).and(LOW, R3).load64(R3, R4.at(at + 24)).xor(LOW, R3);
            // Either a number or its negation is negative, unless it is 0.
            a.or(LOW, HIGH).mov(R3, 0).sub(R3, LOW).or(R0, LOW).or(R0, R3);
        }
    }

    fn rule_bytes(&self, fields: &[Field], rule: &ResidualRule) -> Vec<u8> {
        let last = if rule.is_last { LAST } else { 0 };
        let asked = fields.iter().zip(&rule.ranges).filter(|(_, range)| range.is_some());
        let known = asked.fold(0, |known, (field, _)| known | self.unsure(*field));
        let mut bytes = [FINAL | rule.rule | last, known].map(u32::to_le_bytes).concat();
        for (field, range) in fields.iter().zip(&rule.ranges) {
            let (first, last) = range.unwrap_or((0, field.highest()));
            bytes.extend(range_bytes(*field, first, last.min(field.highest())));
        }
        bytes
    }
}

fn range_bytes(field: Field, first: u128, last: u128) -> Vec<u8> {
    match field.bits() {
        ..=32 => [first, last - first].iter().flat_map(|one| (*one as u32).to_le_bytes()).collect(),
        33..=64 => {
            [first, last - first].iter().flat_map(|one| (*one as u64).to_le_bytes()).collect()
        }
        _ => {
            let (mask, value) = (!(first ^ last), first);
            let halves = [mask >> 64, value >> 64, mask, value];
            halves.iter().flat_map(|one| (*one as u64).to_le_bytes()).collect()
        }
    }
}
