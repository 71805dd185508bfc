//! Tables: the lowest rule of a group that decides, or a group's list of rules that do not.
//!
//! Rule: load for load what `Table::walk` does. A walk leaves its final state in R0: bit 31 is set.

use spec::asm::Cond;
use spec::asm::Reg::{R0, R1, R3, R4, R5, R7, R8};

use super::Code;
use crate::filter::plan::{FINAL, Rows, Table};

impl Code<'_> {
    /// R0 = the final state of the packet.
    pub(super) fn walk(&mut self, table: &Table) {
        let end = self.asm.label();
        let last = table.steps.len() - 1;
        for (number, step) in table.steps.iter().enumerate() {
            self.asm.note(format!("{:?}: {} of {}", step.field, number + 1, last + 1));
            if step.rows.is_some() {
                self.asm.mov32(R8, R0);
            }
            self.class(step);
            if let Some(rows) = &step.rows {
                self.next_state(rows);
            }
            if number < last {
                self.asm.jump32_if(R0, Cond::Slt, 0, end);
            }
        }
        self.asm.bind(end);
    }

    /// R7 = the lowest of what it was and of what each table finds, all with the bit `FINAL`.
    pub(super) fn lowest(&mut self, tables: &[Table], otherwise: u32) {
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

    /// R0 = the next state, from the state in R8 and the class in R0.
    fn next_state(&mut self, rows: &Rows) {
        let row = |row: &crate::filter::plan::Row| [row.base, row.default];
        let words: Vec<u32> = rows.rows.iter().flat_map(row).collect();
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let place = self.data.table(bytes, rows.rows.len(), 0);
        self.point(place);
        let a = &mut self.asm;
        a.mov32(R1, R8).and32(R1, place.mask).lsh(R1, 3).add(R4, R1);
        a.load32(R3, R4.at(0)).load32(R5, R4.at(4));
        if rows.entries.is_empty() {
            a.mov32(R0, R5);
            return;
        }
        let [default, done] = [a.label(), a.label()];
        let count = rows.entries.len();
        a.add32(R3, R0).jump32_if(R3, Cond::Ge, count as i32, default);
        let words = rows.entries.iter().flat_map(|entry| [entry.state, entry.next]);
        let bytes = words.flat_map(u32::to_le_bytes).collect();
        let place = self.data.table(bytes, count, 0);
        self.point(place);
        let a = &mut self.asm;
        a.lsh(R3, 3).add(R4, R3).load32(R1, R4.at(0)).load32(R0, R4.at(4));
        a.jump32_if(R1, Cond::Eq, R8, done).bind(default).mov32(R0, R5).bind(done);
    }
}
