//! Code for many rules that do not decide: tables find lists of rules, which are processed in the
//! order of the rules' numbers, up to the rule that decides.
//!
//! ```text
//!  stack frame, at the bottom of the code's stack:
//!   0  packet     8  limit     12  rule that ended the search
//!  16  context   24 + 4n  cursor n
//! ```
//!
//! A cursor is an index into the lists of its group. Rule: every list ends with `NO_RULE`, which is
//! above every limit; index 0 is such an end, for packets without a list. Numbers in lists have the
//! bit `FINAL`, as R7 has.

use spec::asm::Reg::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use spec::asm::{Cond, Helper, Label, MemRef, Operand, Reg};

use super::Code;
use super::data::{MAP, Place};
use super::straight::Leads;
use super::value::{CONTEXT, PACKET, TOP};
use crate::compile::plan::{Effects, FINAL, FamilyPlan, NO_RULE, Plan};
use crate::{EFFECT, Family};

/// The most calls of the effect that are unrolled for the verifier.
const STEPS: usize = 32;

/// The most groups; their cursors must fit on the stack.
const GROUPS: usize = 24;

const LIMIT: i16 = 8;
const ENDED: i16 = 12;
const CONTEXT_COPY: i16 = 16;
const CURSORS: i16 = 24;

/// The cursors and their lists.
struct Merge {
    base: Reg,
    frame: i16,
    lists: Vec<Place>,
}

impl Code<'_> {
    /// The code of a family that has such lists; no path falls through.
    pub(super) fn with_effects(&mut self, plan: &FamilyPlan) {
        self.lowest(&plan.tables, plan.otherwise);
        let frame = self.frame(plan);
        let merge = Merge { base: R10, frame, lists: self.lists(plan) };
        for (number, effects) in plan.effects.iter().enumerate() {
            self.cursor(effects, merge.cursor(number));
        }
        let run = Run { merge, plan, callback: looped(plan).then(|| self.callback(plan.family)) };
        for rule in &plan.straight {
            self.stop_before(*rule, &run);
            let decides = self.rules.rules[*rule as usize].action.decides();
            let leads = self.rule(plan.family, *rule, |code, rule, next| {
                run.below(code, Some(rule));
                if decides { code.decide(rule) } else { code.effect(rule, next) }
            });
            if leads == Leads::Nowhere {
                return;
            }
        }
        run.below(self, None);
        self.answer(R7);
    }

    /// The functions that walk lists for `bpf_loop`.
    pub(super) fn effect_loops(&mut self, plan: &Plan) {
        for family in &plan.families {
            if looped(family) {
                self.effect_loop(family);
            }
        }
    }

    /// Ends the search before a rule if R7 is not greater.
    fn stop_before(&mut self, rule: u32, run: &Run<'_>) {
        let below = self.asm.label();
        self.asm.jump32_if(R7, Cond::Gt, (rule | FINAL).cast_signed(), below);
        run.below(self, None);
        self.answer(R7);
        self.asm.bind(below);
    }

    fn frame(&self, plan: &FamilyPlan) -> i16 {
        -TOP - self.memory - (CURSORS + 4 * plan.effects.len() as i16 + 7) / 8 * 8
    }

    fn callback(&mut self, family: Family) -> Label {
        self.loops = true;
        *self.callbacks[family as usize].get_or_insert_with(|| self.asm.label())
    }

    /// The lists of each group in memory.
    fn lists(&mut self, plan: &FamilyPlan) -> Vec<Place> {
        let place = |effects: &Effects| self.data.words(&ended(effects).0, 0);
        plan.effects.iter().map(place).collect()
    }

    /// Stores the beginning of a group's list for the packet.
    fn cursor(&mut self, effects: &Effects, cursor: MemRef) {
        let [none, store] = [self.asm.label(), self.asm.label()];
        self.asm.note(format!("{} rules that continue", effects.table.rules));
        let least = (effects.table.least | FINAL).cast_signed();
        self.asm.jump32_if(R7, Cond::Le, least, none);
        self.walk(&effects.table);
        self.asm.jump32_if(R0, Cond::Eq, NO_RULE.cast_signed(), none);
        let starts = self.data.words(&ended(effects).1, 0);
        self.point(starts);
        self.asm.and32(R0, starts.mask).lsh(R0, 2).add(R4, R0).load32(R0, R4.at(0)).jump(store);
        // The verifier would follow a constant through each combination of the groups' cursors.
        self.asm.bind(none).mov32(R0, 0);
        self.forget(R0);
        self.asm.bind(store).store32(cursor, R0);
    }

    fn effect_loop(&mut self, plan: &FamilyPlan) {
        let label = self.callback(plan.family);
        let name = super::name(plan.family);
        self.asm.function(label, format!("filter_effects_{name}"));
        self.asm.note("the next rule that matches and does not decide");
        let end = self.asm.label();
        self.asm.mov(R6, R2).load32(R7, R6.at(LIMIT));
        let merge = Merge { base: R6, frame: 0, lists: self.lists(plan) };
        merge.next(self, R7.into(), end);
        let a = &mut self.asm;
        a.mov32(R3, R9).load64(R2, R6.at(0)).load64(R1, R6.at(CONTEXT_COPY));
        a.call_function(EFFECT);
        let next = a.label();
        a.jump32_if(R0, Cond::Eq, 0, next).store32(R6.at(ENDED), R9);
        a.bind(end).mov32(R0, 1).exit();
        a.bind(next).mov32(R0, 0).exit();
    }
}

/// Code that processes the lists of a family.
struct Run<'p> {
    merge: Merge,
    plan: &'p FamilyPlan,
    callback: Option<Label>,
}

impl Run<'_> {
    /// Calls the effect for all rules below a number, or below R7; ends the search if one does.
    fn below(&self, code: &mut Code<'_>, rule: Option<u32>) {
        let limit = rule.map_or(Operand::Reg(R7), |rule| (rule | FINAL).cast_signed().into());
        code.asm.note("rules that continue, in order");
        match self.callback {
            Some(callback) => self.by_helper(code, limit, callback),
            None => self.by_counting(code, limit),
        }
    }

    fn by_counting(&self, code: &mut Code<'_>, limit: Operand) {
        let end = code.asm.label();
        code.asm.mov32(R8, longest(self.plan) as i32);
        let head = code.asm.here();
        self.merge.next(code, limit, end);
        let a = &mut code.asm;
        let next = a.label();
        a.load64(R1, CONTEXT).mov(R2, PACKET).mov32(R3, R9).call_function(EFFECT);
        a.jump32_if(R0, Cond::Eq, 0, next);
        a.mov32(R0, R9).exit();
        a.bind(next).sub32(R8, 1).jump32_if(R8, Cond::Ne, 0, head).bind(end);
    }

    fn by_helper(&self, code: &mut Code<'_>, limit: Operand, callback: Label) {
        let frame = |off| R10.at(self.merge.frame + off);
        let a = &mut code.asm;
        match limit {
            Operand::Reg(reg) => a.store32(frame(LIMIT), reg),
            Operand::Imm(limit) => a.mov32(R1, limit).store32(frame(LIMIT), R1),
        };
        a.mov32(R1, NO_RULE.cast_signed()).store32(frame(ENDED), R1).store64(frame(0), PACKET);
        a.load64(R1, CONTEXT).store64(frame(CONTEXT_COPY), R1);
        a.mov32(R1, longest(self.plan) as i32).load_function(R2, callback);
        a.mov(R3, R10).add(R3, self.merge.frame).mov32(R4, 0).call(Helper::LOOP);
        let on = a.label();
        a.load32(R0, frame(ENDED)).jump32_if(R0, Cond::Eq, NO_RULE.cast_signed(), on).exit();
        a.bind(on);
    }
}

impl Merge {
    fn cursor(&self, group: usize) -> MemRef {
        self.base.at(self.frame + CURSORS + 4 * group as i16)
    }

    /// Sets R9 to the lowest number at a cursor, without `FINAL`, and advances that cursor; jumps
    /// to `end` if the number is not below the limit.
    fn next(&self, code: &mut Code<'_>, limit: Operand, end: Label) {
        for group in 0..self.lists.len() {
            self.load(code, group);
            let a = &mut code.asm;
            if group == 0 {
                a.mov32(R9, R3);
            } else {
                let higher = a.label();
                a.jump32_if(R3, Cond::Ge, R9, higher).mov32(R9, R3).bind(higher);
            }
        }
        code.asm.jump32_if(R9, Cond::Ge, limit, end);
        for group in 0..self.lists.len() {
            if self.lists.len() > 1 {
                self.load(code, group);
            }
            let a = &mut code.asm;
            let other = a.label();
            a.jump32_if(R3, Cond::Ne, R9, other);
            a.load32(R1, self.cursor(group)).add32(R1, 1).store32(self.cursor(group), R1);
            a.bind(other);
        }
        code.asm.and32(R9, (!FINAL).cast_signed());
    }

    /// Sets R3 to the number at a cursor.
    fn load(&self, code: &mut Code<'_>, group: usize) {
        let place = self.lists[group];
        let a = &mut code.asm;
        a.load32(R1, self.cursor(group)).and32(R1, place.mask).lsh(R1, 2);
        a.load_map_value(R4, MAP, place.offset).add(R4, R1).load32(R3, R4.at(0));
    }
}

/// Whether the lists of a plan can be processed together.
pub fn fits(plan: &Plan) -> bool {
    plan.families.iter().all(|family| family.effects.len() <= GROUPS)
}

/// Whether tables find rules that do not decide.
pub fn has_effects(plan: &Plan) -> bool {
    plan.families.iter().any(|family| !family.effects.is_empty())
}

fn longest(plan: &FamilyPlan) -> usize {
    plan.effects.iter().map(|effects| effects.longest as usize).sum()
}

fn looped(plan: &FamilyPlan) -> bool {
    longest(plan) * (2 * plan.straight.len() + 1) > STEPS
}

/// All lists with their end markers, and the beginning of each.
fn ended(effects: &Effects) -> (Vec<u32>, Vec<u32>) {
    let (mut words, mut begins) = (vec![NO_RULE], Vec::new());
    for list in effects.starts.windows(2) {
        begins.push(words.len() as u32);
        let rules = &effects.rules[list[0] as usize..list[1] as usize];
        words.extend(rules.iter().map(|rule| rule | FINAL));
        words.push(NO_RULE);
    }
    (words, begins)
}
