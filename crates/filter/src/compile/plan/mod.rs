//! Plan: the structure of the code for a ruleset, as plain data.
//!
//! ```text
//!  rules of a family ─┬─▶ few, or with tests of payload ───────────▶ straight: one by one
//!                     ├─▶ many that decide ────▶ groups ──▶ tables   the first match
//!                     └─▶ many that continue ──▶ groups ──▶ effects  all matches, in order
//! ```
//!
//! Rule: for every packet, the plan has the same result as its rules one by one. Each part has a
//! simulator that does the same as the generated code, and tests compare it with the rules. Making
//! a plan always terminates: a group whose table would be too large is split, and the table of one
//! rule is not larger than the rule. Not here: code (`code`).

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

/// The number of a state in a step or, with the bit `FINAL`, a result: the number of a rule (in an
/// [`Effects`], of a list), the beginning of a list of [`Residual`], or `NO_RULE`.
pub type State = u32;
/// The bit that is set in final states. Other states are less than 2^30.
pub const FINAL: State = 1 << 31;
/// The result if no rule matches, as `FILTER_NO_RULE`.
pub const NO_RULE: State = u32::MAX;
/// The state of an entry that no state uses.
pub const FREE: State = u32::MAX;

/// The budget of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of rows for the rules of a family that decide, and the same for the others.
    /// Classifiers do not count: their size is that of the sets.
    pub bytes: usize,
    /// The most rules of fields that are tested one by one.
    ///
    /// Time per packet of rules one by one, compared with tables, of about 60 ns. Measured by test
    /// runs with hosts, ports, hosts with ports, and mixed prefixes:
    ///
    /// | rules | the last rule drops | all rules pass |
    /// |---|---|---|
    /// | 2 to 8 | 5 ns less to equal | equal to 3 ns more |
    /// | 10 and 12 | equal | up to 5 ns more |
    /// | 32 | 5 to 9 ns more | 8 to 11 ns more |
    pub straight_rules: usize,
    /// The most ranges of these rules together.
    pub straight_ranges: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 16 << 20, straight_rules: 8, straight_ranges: 64 }
    }
}

/// The plan of a ruleset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In the order of [`Family::ALL`].
    pub families: [FamilyPlan; Family::ALL.len()],
}

/// The plan for packets of one family.
///
/// Code searches `tables` for the first rule that decides, or takes `otherwise`. Before that, rules
/// with lower numbers may end the search, in the order of their numbers: `straight` rules, which
/// are tested, and rules in the lists of `effects`, which are known to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyPlan {
    pub family: Family,
    /// Tables of rules that decide, in the order of `least`. A table whose `least` is not below the
    /// rule found so far is skipped.
    pub tables: Vec<Table>,
    /// Tables of rules that do not decide.
    pub effects: Vec<Effects>,
    /// Rules that are tested one by one, in order; some of them decide.
    pub straight: Vec<u32>,
    /// The first rule that decides and that every packet of the family matches, or `NO_RULE`. Later
    /// rules are not in the plan.
    pub otherwise: u32,
}

/// A table that finds all rules of a group that a packet matches. Its final states are numbers of
/// lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    pub table: Table,
    /// List n is `rules[starts[n]..starts[n + 1]]`, which is never empty.
    pub starts: Vec<u32>,
    /// Numbers of rules, in order within a list.
    pub rules: Vec<u32>,
    /// Length of the longest list.
    pub longest: u32,
}

impl Effects {
    /// The rules that a packet matches, in order.
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
    /// The plan for packets of a family.
    pub fn family(&self, family: Family) -> &FamilyPlan {
        &self.families[family as usize]
    }

    /// The rule that ends the search, or `NO_RULE`, as the generated code finds it. `matches` tests
    /// a `straight` rule. `ends` is called for each rule that matches and is not in a table of
    /// rules that decide; it returns whether the rule ends the search.
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
    /// The rule that ends the search for a packet of the family; see [`Plan::decide`].
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

    /// Bytes of memory that the tables read.
    pub fn bytes(&self) -> usize {
        let tables = self.tables.iter().chain(self.effects.iter().map(|effects| &effects.table));
        let lists = self.effects.iter().map(|one| 4 * (one.starts.len() + one.rules.len()));
        tables.map(Table::bytes).chain(lists).sum()
    }
}
