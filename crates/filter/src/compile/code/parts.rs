//! Code for very many rules that are tested one by one: functions that the kernel verifies
//! separately.
//!
//! The verifier keeps the paths on which a rule did not match for later, 8192 of them at most.
//! These paths end with a global function.
//!
//! ```text
//!  filter_ipv4_0(ctx, packet, R7) ─▶ none ─▶ filter_ipv4_1(ctx, packet, R7) ─▶ none ─▶ …
//!             └▶ a rule                                 └▶ a rule
//! ```
//!
//! Rule: a part is called with R7 and returns the result of its rules, or `NO_RULE` to continue.
//! Its type is that of `filter_effect()`.

use spec::asm::Reg::{R0, R1, R2, R3, R7};
use spec::asm::{Cond, Label};

use super::straight::{Leads, branches};
use super::value::{CONTEXT, PACKET};
use super::{BRANCHES, Code, name, sure};
use crate::Family;
use crate::compile::plan::{FamilyPlan, NO_RULE, Plan};

/// A function that is called and not written yet.
pub struct Part {
    name: String,
    label: Label,
    family: Family,
    /// Numbers of its rules.
    rules: Vec<u32>,
}

impl Code<'_> {
    /// Calls functions for all rules that are tested one by one; falls through if none ends the
    /// search.
    pub(super) fn part_by_part(&mut self, plan: &FamilyPlan) {
        let mut rules = &plan.straight[..];
        let mut number = 0;
        while !rules.is_empty() {
            let (part, rest) = rules.split_at(self.longest_part(rules));
            let name = format!("filter_{}_{number}", name(plan.family));
            let (label, own) = (self.asm.label(), part.to_vec());
            self.call_part(plan, Part { name, label, family: plan.family, rules: own });
            (rules, number) = (rest, number + 1);
        }
    }

    /// The number of the rules that fit one part; at least one.
    fn longest_part(&self, rules: &[u32]) -> usize {
        let mut sum = 0;
        let fitting = rules.iter().take_while(|rule| {
            sum += branches(self.rules, std::slice::from_ref(rule));
            sum <= BRANCHES / 2
        });
        fitting.count().max(1)
    }

    fn call_part(&mut self, plan: &FamilyPlan, part: Part) {
        let on = self.asm.label();
        let a = &mut self.asm;
        a.note(format!("{} rules in {}", part.rules.len(), part.name));
        a.load64(R1, CONTEXT).mov(R2, PACKET);
        if plan.tables.is_empty() {
            a.mov32(R3, NO_RULE.cast_signed());
        } else {
            a.mov32(R3, R7);
        }
        a.call_local(part.label).jump32_if(R0, Cond::Eq, NO_RULE.cast_signed(), on).exit().bind(on);
        self.parts.push(part);
    }

    /// Writes the functions that are called and returns their names.
    pub(super) fn functions_of_parts(&mut self, plan: &Plan) -> Vec<String> {
        let parts = std::mem::take(&mut self.parts);
        for part in &parts {
            let there = self.asm.label();
            let a = &mut self.asm;
            a.function(part.label, part.name.clone()).jump_if(R2, Cond::Ne, 0, there);
            a.mov32(R0, NO_RULE.cast_signed()).exit().bind(there);
            a.mov(PACKET, R2).store64(CONTEXT, R1).mov32(R7, R3);
            self.sure = sure(part.family);
            if self.each(plan.family(part.family), &part.rules) == Leads::On {
                self.asm.mov32(R0, NO_RULE.cast_signed()).exit();
            }
        }
        parts.into_iter().map(|part| part.name).collect()
    }
}
