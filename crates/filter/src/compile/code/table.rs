//! Code for tables: the first rule of a group that decides, or a list of rules that do not.
//!
//! Rule: the code does the same as `Table::walk`, load for load. It returns the final state in R0,
//! with bit 31 set.

use spec::asm::Cond;
use spec::asm::Reg::{R0, R1, R3, R4, R5, R7, R8};

use super::Code;
use super::search::{self, LONG_RUN, SHORT};
use super::value::{LOW, load};
use crate::Field;
use crate::compile::plan::{Classifier, Comb, FINAL, NO_RULE, RunRow, Runs, Table, Transition};

impl Code<'_> {
    /// Sets R0 to the final state of the packet.
    pub(super) fn walk(&mut self, table: &Table) {
        let end = self.asm.label();
        let last = table.steps.len() - 1;
        for (number, step) in table.steps.iter().enumerate() {
            self.asm.note(format!("{:?}: {} of {}", step.field, number + 1, last + 1));
            if number > 0 {
                self.asm.mov32(R8, R0);
            }
            match &step.transition {
                Transition::First { classifier, absent } => {
                    self.class(step.field, classifier, *absent)
                }
                Transition::Comb { classifier, absent, comb } => {
                    self.class(step.field, classifier, *absent);
                    self.comb(comb);
                }
                Transition::Runs { ranks, runs } => self.runs(step.field, ranks.as_ref(), runs),
            }
            if number < last {
                self.asm.jump32_if(R0, Cond::Slt, 0, end);
            }
        }
        self.asm.bind(end);
        self.residual(&table.residual);
    }

    /// Sets R7 to the lowest rule that the tables find, or `otherwise`, with the bit `FINAL`.
    pub(super) fn lowest(&mut self, tables: &[Table], otherwise: u32) {
        if let ([only], NO_RULE) = (tables, otherwise) {
            self.walk(only);
            self.asm.mov32(R7, R0);
            return;
        }
        self.asm.mov32(R7, (otherwise | FINAL).cast_signed());
        for (number, table) in tables.iter().enumerate() {
            let next = self.asm.label();
            let title = format!("table {} of {}: {} rules", number + 1, tables.len(), table.rules);
            self.asm.note(title);
            if number > 0 {
                let least = (table.least | FINAL).cast_signed();
                self.asm.jump32_if(R7, Cond::Le, least, next);
            }
            self.walk(table);
            self.forget(R0);
            self.asm.jump32_if(R0, Cond::Ge, R7, next).mov32(R7, R0).bind(next);
        }
    }

    /// Sets R0 to the next state, from the state in R8 and the class in R0.
    fn comb(&mut self, comb: &Comb) {
        let words = comb.rows.iter().map(|row| [row.base, row.default]);
        self.row(words.collect());
        let a = &mut self.asm;
        a.load32(R3, R4.at(0)).load32(R5, R4.at(4));
        if comb.entries.is_empty() {
            a.mov32(R0, R5);
            return;
        }
        let [default, done] = [a.label(), a.label()];
        let entries = comb.entries.iter().map(|entry| [entry.state, entry.next]);
        let count = comb.entries.len();
        a.add32(R3, R0).jump32_if(R3, Cond::Ge, count as i32, default);
        let place = self.data.pairs(entries.collect());
        self.point(place);
        let a = &mut self.asm;
        a.lsh(R3, 3).add(R4, R3).load32(R1, R4.at(0)).load32(R0, R4.at(4));
        a.jump32_if(R1, Cond::Eq, R8, done).bind(default).mov32(R0, R5).bind(done);
    }

    /// Sets R0 to the next state, from the state in R8 and the value of the packet.
    fn runs(&mut self, field: Field, ranks: Option<&Classifier>, runs: &Runs) {
        let done = self.asm.label();
        let start = |row: &RunRow| row.start | if row.probes > SHORT { LONG_RUN } else { 0 };
        let rows: Vec<_> = runs.rows.iter().map(|row| [start(row), row.absent]).collect();
        let known = self.unsure(field);
        if known != 0 {
            let there = self.asm.label();
            self.known(R0).jump32_if(R0, Cond::Set, known.cast_signed(), there);
            self.row(rows.clone());
            self.asm.load32(R0, R4.at(4)).jump(done).bind(there);
        }
        load(&mut self.asm, field);
        if let Some(ranks) = ranks {
            self.classify(field, ranks);
            self.asm.mov32(LOW, R0);
        }
        self.row(rows);
        let a = &mut self.asm;
        a.load32(R0, R4.at(0)).mov32(R3, R8).lsh(R3, 32).or(LOW, R3);
        search::run(self, runs, done);
        self.asm.bind(done);
    }

    /// Sets R4 to the address of the row of the state in R8, which has two words. Overwrites R1.
    fn row(&mut self, rows: Vec<[u32; 2]>) {
        let place = self.data.pairs(rows);
        self.point(place);
        self.asm.mov32(R1, R8).and32(R1, place.mask).lsh(R1, 3).add(R4, R1);
    }
}
