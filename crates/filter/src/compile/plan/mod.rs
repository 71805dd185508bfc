//! plan: from rules to what a program is made of, in plain data.
//!
//! ```text
//!  rules of a family ─┬─▶ few, or looking into payloads ──────────▶ straight: one after other
//!                     ├─▶ many that decide ──▶ groups ──▶ tables    the least match counts
//!                     └─▶ many that go on ───▶ groups ──▶ effects   all matches, in order
//! ```
//!
//! Rule: for every packet, the plan answers what its rules answer one after the other; each part
//! has a simulator that does what generated code does, and tests hold it to the rules. Making a
//! plan always ends: a group whose table would grow too big is split, and the table of one rule is
//! no bigger than the rule. Not here: code (`code`), and text for people but for `describe`.

mod boundary;
mod build;
mod classes;
mod classifier;
mod comb;
mod conjunction;
mod describe;
mod group;
mod join;
mod make;
mod ranges;
mod residual;
mod row;
mod runs;
mod split;
mod states;
mod table;

#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
pub(crate) mod tests;

pub use boundary::Boundary;
pub use classifier::Classifier;
pub use comb::{Comb, Entry, Row};
pub use describe::Description;
pub use ranges::{Entries, Level, Node, Ranges};
pub use residual::{Residual, ResidualRule};
pub use runs::{RunRow, Runs};
pub use table::{Step, Table, Transition};

use crate::{Family, PacketFields};

/// A number of a state in a step; or, with the bit `FINAL`, what becomes of the packet: a rule's
/// number (in an [`Effects`], a list's), where a list of [`Residual`] begins, or `NO_RULE`.
pub type State = u32;
/// Set in states that end the walk through a table. Other states are less than 2^30.
pub const FINAL: State = 1 << 31;
/// No rule matches. As `FILTER_NO_RULE`.
pub const NO_RULE: State = u32::MAX;
/// The state of an entry that is nobody's.
pub const FREE: State = u32::MAX;

/// What a plan may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of rows for a family's rules that decide, and as many for the others. Classifiers are
    /// beyond it: they cost what the rules' sets cost.
    pub bytes: usize,
    /// Up to so many rules of fields, with so many ranges together, are tested one by one. Measured
    /// by test run of the same rules in both forms, for hosts, ports, hosts with ports, and mixed
    /// prefixes: with 2 to 8 rules code is level with tables or up to 5 ns ahead where the last
    /// rule drops, and level or up to 3 ns behind where all rules pass; at 10 and 12 it is level
    /// and up to 5 ns behind, at 32 it is 5 to 9 and 8 to 11 ns behind, of some 60.
    pub straight_rules: usize,
    pub straight_ranges: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 16 << 20, straight_rules: 8, straight_ranges: 64 }
    }
}

/// What is made of a ruleset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In the order of [`Family::ALL`].
    pub families: [FamilyPlan; Family::ALL.len()],
}

/// What is made of the rules that packets of a family can match.
///
/// Code looks through `tables` for the lowest rule that decides, or takes `otherwise`. Rules with
/// lower numbers that are not in these tables may end the search before: `straight` ones by their
/// tests, those in the lists of `effects` without any; all in order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyPlan {
    pub family: Family,
    /// Of rules that decide, in order of `least`. One whose `least` is not below what was found
    /// cannot win and is not looked at.
    pub tables: Vec<Table>,
    /// Of rules that do not decide.
    pub effects: Vec<Effects>,
    /// Rules that are tested one by one, in order, whether they decide or not.
    pub straight: Vec<u32>,
    /// The first rule that decides and that every packet of the family matches, or `NO_RULE`. No
    /// rule behind it is in the plan.
    pub otherwise: u32,
}

/// All rules of a group that a packet matches. The table's final states are numbers of lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    pub table: Table,
    /// List n is `rules[starts[n]..starts[n + 1]]`; never empty.
    pub starts: Vec<u32>,
    /// Numbers, in order within a list.
    pub rules: Vec<u32>,
    /// The longest list.
    pub longest: u32,
}

impl Effects {
    /// Rules that a packet matches, in order.
    pub fn matches(&self, packet: &PacketFields) -> &[u32] {
        let state = self.table.walk(packet);
        if state == NO_RULE {
            return &[];
        }
        let list = (state & !FINAL) as usize;
        &self.rules[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

impl Plan {
    pub fn family(&self, family: Family) -> &FamilyPlan {
        &self.families[family as usize]
    }

    /// The rule that ends the search, or `NO_RULE`, as code finds it. `matches` tests a rule that
    /// is `straight`; `ends` is what a rule does that matches and is not in a table of rules that
    /// decide: for one that decides, true.
    pub fn decide(
        &self,
        packet: &PacketFields,
        matches: impl Fn(u32) -> bool,
        ends: impl FnMut(u32) -> bool,
    ) -> u32 {
        self.family(packet.family()).decide(packet, matches, ends)
    }
}

impl FamilyPlan {
    /// As [`Plan::decide`], for a packet of the family.
    pub fn decide(
        &self,
        packet: &PacketFields,
        matches: impl Fn(u32) -> bool,
        mut ends: impl FnMut(u32) -> bool,
    ) -> u32 {
        let decided = self.tables.iter().fold(self.otherwise, |best, table| {
            if table.least < best { best.min(table.decide(packet)) } else { best }
        });
        let listed = self.effects.iter().flat_map(|effects| effects.matches(packet)).copied();
        let tested = self.straight.iter().copied().filter(|rule| matches(*rule));
        let mut before: Vec<u32> = listed.chain(tested).filter(|rule| *rule < decided).collect();
        before.sort_unstable();
        before.into_iter().find(|rule| ends(*rule)).unwrap_or(decided)
    }

    /// Bytes of memory that its tables read.
    pub fn bytes(&self) -> usize {
        let tables = self.tables.iter().chain(self.effects.iter().map(|effects| &effects.table));
        let lists = self.effects.iter().map(|one| 4 * (one.starts.len() + one.rules.len()));
        tables.map(Table::bytes).chain(lists).sum()
    }
}
