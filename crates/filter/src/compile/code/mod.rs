//! code: from a plan to instructions and the memory that they read.
//!
//! ```text
//!  known? ─▶ family ─▶ tables ─▶ R7: the lowest rule that decides ─▶ straight rules below it
//!                         └────▶ effects: lists of rules below it ─▶ filter_effect() in order
//! ```
//!
//! Rule: what `Plan::decide` says is what this code answers; every part does what the part of the
//! plan with its name does. R6 is the packet, R7 the lowest rule found so far with the bit
//! `FINAL`, R8 a table's state, R0 to R5 are free. Numbers that the verifier could follow through
//! many ways are made unknown to it (`forget`), or it would walk what comes behind once for each.
//! Not here: which rules go where (`plan`), and the program around it (`compile`).

mod classify;
mod data;
mod effects;
mod expression;
mod parts;
mod payload;
mod residual;
mod search;
mod straight;
mod table;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use spec::asm::Reg::{R0, R1, R2, R3, R5, R7};
use spec::asm::{Assembler, Cond, Label, Reg};
use spec::{MapDef, ProgramKind};

use self::data::Data;
use self::expression::Called;
use self::parts::Part;
use self::straight::Leads;
use self::value::{CONTEXT, PACKET};
use super::plan::{FINAL, FamilyPlan, NO_RULE, Plan};
use crate::abi::Known;
use crate::{Family, MATCH, Rule, Ruleset};

pub use self::data::MAP as DATA_MAP;
pub use self::effects::{fits, has_effects};
#[cfg(test)]
pub use self::payload::{NETWORK, TRANSPORT};

/// Interfaces by name.
pub type Interfaces<'a> = &'a dyn Fn(&str) -> Option<u32>;

/// What the rules became.
#[derive(Debug)]
pub struct Generated {
    pub code: Assembler,
    /// The tables; none where code alone decides.
    pub data: Option<MapDef>,
    /// Instructions, in slots of eight bytes.
    pub slots: usize,
    /// Bytes of tables.
    pub bytes: usize,
    /// Each family in a function of its own, because jumps would not reach.
    pub split: bool,
    /// Lists of rules that do not decide are walked by `bpf_loop` (Linux 5.17).
    pub loops: bool,
    /// Rules that answer with a constant, each at places of its own.
    pub answers: usize,
    /// Functions that have to be global: together they have more ways than a verifier keeps.
    pub parts: Vec<String>,
    /// Functions of expressions, which have to be global to be verified once.
    pub expressions: Vec<String>,
}

/// Code with one jump table of families is not longer than this.
const LONGEST: usize = 24_000;
/// Rules with a constant answer, after each of which the verifier may follow the rest of the
/// program again.
const ANSWERS: usize = 8;
/// Code whose answers can leave it at one place, in the reach of a jump.
const NEAR: usize = 8192;
/// Ways that the kernel's verifier keeps to walk later (8192), less those of the program around.
const BRANCHES: usize = 8000;
/// Characters of a note.
const LINE: usize = 160;

/// Code that answers which rule of a ruleset decides, with the context in R1 and
/// `struct filter_packet *` in R2.
pub fn generate(rules: &Ruleset, plan: &Plan, ifindex: Interfaces<'_>) -> Generated {
    let whole = Code::new(rules, ifindex).all(plan);
    if whole.slots > LONGEST {
        return Code { split: true, ..Code::new(rules, ifindex) }.all(plan);
    }
    if whole.answers > ANSWERS && whole.slots <= NEAR {
        return Code { hides: true, ..Code::new(rules, ifindex) }.all(plan);
    }
    whole
}

/// Whether the kernel can verify so many rules that are tested one by one. Those that go on may be
/// between them, and are walked in one place.
pub fn is_verifiable(rules: &Ruleset, plan: &Plan) -> bool {
    let branches = |family: &FamilyPlan| straight::branches(rules, &family.straight);
    plan.families.iter().all(|family| family.effects.is_empty() || branches(family) <= BRANCHES)
}

struct Code<'a> {
    asm: Assembler,
    data: Data,
    rules: &'a Ruleset,
    ifindex: Interfaces<'a>,
    split: bool,
    /// Numbers of rules leave at one place, where the verifier no longer knows them.
    hides: bool,
    /// Rules that answer with a constant so far.
    answers: BTreeSet<u32>,
    /// Where answers of the function in hand leave, if they are hidden.
    leave: Option<Label>,
    loops: bool,
    /// Bits of `known` that every packet of the family in hand has.
    sure: u32,
    /// Bytes at the top of the stack that expressions use.
    memory: i16,
    /// Rules that are tested one by one in functions of their own.
    parts: Vec<Part>,
    /// Expressions that are functions of their own.
    expressions: Vec<Called<'a>>,
    /// Functions that walk lists, by family.
    callbacks: [Option<Label>; Family::ALL.len()],
}

impl<'a> Code<'a> {
    fn new(rules: &'a Ruleset, ifindex: Interfaces<'a>) -> Self {
        Self {
            asm: Assembler::new(MATCH, ProgramKind::XDP),
            data: Data::default(),
            rules,
            ifindex,
            split: false,
            hides: false,
            answers: BTreeSet::new(),
            leave: None,
            loops: false,
            sure: 0,
            memory: expression::memory(rules),
            parts: Vec::new(),
            expressions: Vec::new(),
            callbacks: [None; Family::ALL.len()],
        }
    }

    fn all(mut self, plan: &Plan) -> Generated {
        let there = self.asm.label();
        // A function that is verified on its own may be called with nothing.
        self.asm.note("which rule decides").jump_if(R2, Cond::Ne, 0, there);
        self.asm.mov32(R0, NO_RULE.cast_signed()).exit().bind(there);
        self.asm.mov(PACKET, R2).store64(CONTEXT, R1);
        let other = plan.family(Family::Other);
        let apart: Vec<(&FamilyPlan, Known, Label)> =
            [(Family::Ipv4, Known::Ipv4), (Family::Ipv6, Known::Ipv6)]
                .into_iter()
                .map(|(family, known)| (plan.family(family), known))
                .filter(|(family, _)| !is_trivial(other) || !same_answer(family, other))
                .map(|(family, known)| (family, known, self.asm.label()))
                .collect();
        if !apart.is_empty() {
            self.known(R1);
        }
        self.leave = (self.hides && !self.split).then(|| self.asm.label());
        for (_, known, label) in &apart {
            self.asm.jump32_if(R1, Cond::Set, *known as i32, *label);
        }
        let mut functions = Vec::new();
        self.dispatched(other, &mut functions);
        for (family, _, label) in &apart {
            self.asm.bind(*label);
            self.dispatched(family, &mut functions);
        }
        if let Some(leave) = self.leave.take() {
            self.asm.note("the answer").bind(leave);
            self.forget(R0);
            self.asm.exit();
        }
        for (family, label) in functions {
            self.asm.function(label, format!("filter_{}", name(family.family)));
            self.asm.mov(PACKET, R2).store64(CONTEXT, R1);
            self.family(family);
        }
        self.effect_loops(plan);
        let parts = self.functions_of_parts(plan);
        let expressions = self.functions_of_expressions();
        Generated {
            parts,
            expressions,
            slots: self.asm.slot(),
            bytes: self.data.len(),
            split: self.split,
            loops: self.loops,
            answers: self.answers.len(),
            data: self.data.map(),
            code: self.asm,
        }
    }

    /// A family's code here, or a call of it.
    fn dispatched<'p>(&mut self, plan: &'p FamilyPlan, apart: &mut Vec<(&'p FamilyPlan, Label)>) {
        if self.split && !is_trivial(plan) {
            let label = self.asm.label();
            self.asm.load64(R1, CONTEXT).mov(R2, PACKET).call_local(label).exit();
            apart.push((plan, label));
        } else {
            self.family(plan);
        }
    }

    /// Everything for packets of one family; nothing falls through.
    fn family(&mut self, plan: &FamilyPlan) {
        self.asm.note(format!("packets of {}", name(plan.family)));
        self.sure = sure(plan.family);
        if !plan.effects.is_empty() {
            self.with_effects(plan);
        } else if plan.straight.is_empty() && plan.tables.len() == 1 && plan.otherwise == NO_RULE {
            self.walk(&plan.tables[0]);
            self.answer(R0);
        } else {
            if !plan.tables.is_empty() {
                self.lowest(&plan.tables, plan.otherwise);
            }
            self.one_by_one(plan);
        }
    }

    fn one_by_one(&mut self, plan: &FamilyPlan) {
        if straight::branches(self.rules, &plan.straight) > BRANCHES {
            self.part_by_part(plan);
        } else if self.each(plan, &plan.straight) == Leads::Nowhere {
            return;
        }
        if plan.tables.is_empty() {
            self.asm.note(if plan.otherwise == NO_RULE { "no rule decides" } else { "all others" });
            self.asm.mov32(R0, plan.otherwise.cast_signed()).exit();
        } else {
            self.answer(R7);
        }
    }

    /// Rules that are tested one by one, up to the one in R7.
    fn each(&mut self, plan: &FamilyPlan, rules: &[u32]) -> Leads {
        for rule in rules {
            if !plan.tables.is_empty() {
                self.stop_at(*rule);
            }
            let decides = self.rules.rules[*rule as usize].action.decides();
            let leads = self.rule(plan.family, *rule, |code, rule, next| {
                if decides { code.decide(rule) } else { code.effect(rule, next) }
            });
            if leads == Leads::Nowhere {
                return leads;
            }
        }
        Leads::On
    }

    /// Answers R7 unless it is a rule behind this one.
    fn stop_at(&mut self, rule: u32) {
        let below = self.asm.label();
        self.asm.jump32_if(R7, Cond::Gt, (rule | FINAL).cast_signed(), below);
        self.answer(R7);
        self.asm.bind(below);
    }

    /// Ends with a final state.
    fn answer(&mut self, state: Reg) {
        let none = self.asm.label();
        if state != R0 {
            self.asm.mov32(R0, state);
        }
        self.asm.jump32_if(R0, Cond::Eq, NO_RULE.cast_signed(), none);
        self.asm.and32(R0, (!FINAL).cast_signed()).bind(none).exit();
    }

    /// `into` = which fields are there.
    fn known(&mut self, into: Reg) -> &mut Assembler {
        self.asm.load32(into, PACKET.at(Known::OFFSET))
    }

    /// Adds a zero that the verifier does not know to be one.
    fn forget(&mut self, number: Reg) {
        self.known(R3);
        self.known(R5);
        self.asm.sub32(R3, R5).add32(number, R3);
    }
}

/// One answer for all packets.
fn is_trivial(plan: &FamilyPlan) -> bool {
    plan.tables.is_empty() && plan.effects.is_empty() && plan.straight.is_empty()
}

fn same_answer(one: &FamilyPlan, other: &FamilyPlan) -> bool {
    is_trivial(one) && is_trivial(other) && one.otherwise == other.otherwise
}

/// Bits of `known` that every packet of a family has.
const fn sure(family: Family) -> u32 {
    match family {
        Family::Ipv4 => Known::Ipv4 as u32,
        Family::Ipv6 => Known::Ipv6 as u32,
        Family::Other => 0,
    }
}

const fn name(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "ipv4",
        Family::Ipv6 => "ipv6",
        Family::Other => "other",
    }
}

/// A rule as its note shows it: as people write it, as far as a line goes.
fn text(rule: &Rule) -> String {
    let mut text = rule.to_string();
    if !text.starts_with(&format!("{}: ", rule.name)) {
        text = format!("{}: {text}", rule.name);
    }
    if let Some((end, _)) = text.char_indices().nth(LINE) {
        text.truncate(end);
        text.push('…');
    }
    text
}
