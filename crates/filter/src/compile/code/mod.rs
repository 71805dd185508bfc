//! Code generation: makes instructions, and the memory that they read, from a plan.
//!
//! ```text
//!  known? ─▶ family ─▶ tables ─▶ R7: the lowest rule that decides ─▶ straight rules below it
//!                         └────▶ effects: lists of rules below it ─▶ filter_effect() in order
//! ```
//!
//! Rule: the code returns the result of `Plan::decide`; each part implements the part of the plan
//! with the same name. R6 is the packet, R7 the lowest rule found so far with the bit `FINAL`, R8
//! the state of a table; R0 to R5 are free. Numbers that the verifier could track on many paths are
//! made unknown to it (`forget`); otherwise it would verify the following code once for each. Not
//! here: the assignment of rules (`plan`), and the rest of the program (`compile`).

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

/// Resolves names of interfaces.
pub type Interfaces<'a> = &'a dyn Fn(&str) -> Option<u32>;

/// The code of a ruleset.
#[derive(Debug)]
pub struct Generated {
    /// The instructions.
    pub code: Assembler,
    /// The tables; `None` if there are none.
    pub data: Option<MapDef>,
    /// The number of instructions, in slots of eight bytes.
    pub slots: usize,
    /// Bytes of tables.
    pub bytes: usize,
    /// Whether each family is a function, because the code is too long for jumps.
    pub split: bool,
    /// Whether `bpf_loop` (Linux 5.17) processes the lists of rules that do not decide.
    pub loops: bool,
    /// The number of rules that return a constant, each at its own place.
    pub answers: usize,
    /// Functions that must be global, because together they have more paths than the verifier
    /// keeps.
    pub parts: Vec<String>,
    /// Functions of expressions, which must be global to be verified once.
    pub expressions: Vec<String>,
}

/// The most slots of code without a function per family.
const LONGEST: usize = 24_000;
/// The most rules that return a constant; after each, the verifier may follow the rest of the
/// program again.
const ANSWERS: usize = 8;
/// The most slots of code in which all results can leave at one place, in the range of a jump.
const NEAR: usize = 8192;
/// Paths that the kernel's verifier keeps for later (8192), less those of the rest of the program.
const BRANCHES: usize = 8000;
/// The most characters of a note.
const LINE: usize = 160;

/// Generates code that returns the number of the rule that decides, with the context in R1 and
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

/// Whether the kernel can verify the rules that are tested one by one, if there are also lists of
/// rules that do not decide, which are processed in one place.
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
    /// Whether results leave at one place, where the verifier no longer knows them.
    hides: bool,
    /// Rules that return a constant so far.
    answers: BTreeSet<u32>,
    /// The place where results of the current function leave, if they are hidden.
    leave: Option<Label>,
    loops: bool,
    /// Bits of `known` that every packet of the current family has.
    sure: u32,
    /// Bytes at the top of the stack that expressions use.
    memory: i16,
    /// Functions of rules that are tested one by one.
    parts: Vec<Part>,
    /// Expressions that are functions.
    expressions: Vec<Called<'a>>,
    /// Functions that process lists, by family.
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
        // The verifier assumes that a global function may be called with a null pointer.
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
            self.asm.note("the result").bind(leave);
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

    /// The code of a family, or a call of it.
    fn dispatched<'p>(&mut self, plan: &'p FamilyPlan, apart: &mut Vec<(&'p FamilyPlan, Label)>) {
        if self.split && !is_trivial(plan) {
            let label = self.asm.label();
            self.asm.load64(R1, CONTEXT).mov(R2, PACKET).call_local(label).exit();
            apart.push((plan, label));
        } else {
            self.family(plan);
        }
    }

    /// The code for packets of one family; no path falls through.
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

    /// Returns R7 unless it is greater than this rule.
    fn stop_at(&mut self, rule: u32) {
        let below = self.asm.label();
        self.asm.jump32_if(R7, Cond::Gt, (rule | FINAL).cast_signed(), below);
        self.answer(R7);
        self.asm.bind(below);
    }

    /// Returns a final state.
    fn answer(&mut self, state: Reg) {
        let none = self.asm.label();
        if state != R0 {
            self.asm.mov32(R0, state);
        }
        self.asm.jump32_if(R0, Cond::Eq, NO_RULE.cast_signed(), none);
        self.asm.and32(R0, (!FINAL).cast_signed()).bind(none).exit();
    }

    /// Loads the fields that the packet has.
    fn known(&mut self, into: Reg) -> &mut Assembler {
        self.asm.load32(into, PACKET.at(Known::OFFSET))
    }

    /// Adds a zero whose value the verifier does not know.
    fn forget(&mut self, number: Reg) {
        self.known(R3);
        self.known(R5);
        self.asm.sub32(R3, R5).add32(number, R3);
    }
}

/// Whether all packets have the same result.
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

/// The note of a rule: its text, truncated to one line.
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
