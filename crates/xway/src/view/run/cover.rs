//! Which source lines ran, how often, and which way their branches went.
//!
//! Field names are promised in `docs/json.md`.

use report::table::Column;
use report::{Table, text};
use serde::Serialize;

use crate::view::Paint;

#[derive(Debug, Serialize)]
pub struct Covered {
    /// Runs of programs, those behind redirects included.
    pub runs: u64,
    pub functions: Vec<CoveredFunction>,
    /// By file and line; empty for objects without line information.
    pub lines: Vec<CoveredLine>,
    /// Instructions of programs without line information.
    pub instructions: Vec<CoveredInsn>,
}

#[derive(Debug, Serialize)]
pub struct CoveredFunction {
    pub program: String,
    pub name: String,
    pub file: String,
    /// 0 without line information.
    pub line: u32,
    pub hits: u64,
    /// Source lines, those of functions inlined into it included, and those of them that ran.
    pub lines: usize,
    pub lines_hit: usize,
    /// Ways out of conditional jumps, two each, and those of them that were taken.
    pub branches: usize,
    pub branches_hit: usize,
}

#[derive(Debug, Serialize)]
pub struct CoveredLine {
    pub file: String,
    pub line: u32,
    pub text: String,
    pub hits: u64,
    pub branches: Vec<Ways>,
}

/// How often a conditional jump was taken, and how often not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ways {
    pub taken: u64,
    pub not_taken: u64,
}

#[derive(Debug, Serialize)]
pub struct CoveredInsn {
    pub program: String,
    pub slot: usize,
    pub text: String,
    pub hits: u64,
}

impl Covered {
    pub fn text(&self, paint: Paint) -> String {
        let mut text = format!("\n{}\n", paint.bold("coverage"));
        let mut file = "";
        for line in &self.lines {
            if line.file != file {
                file = &line.file;
                text.push_str(&format!("\n{}\n", paint.bold(file)));
            }
            text.push_str(&line.text(paint));
        }
        for insn in &self.instructions {
            let CoveredInsn { program, slot, text: words, hits } = insn;
            let insn = format!("{program} {slot:>5}: {words}");
            text.push_str(&format!("{} {}\n", margin(*hits, paint), text::line(&insn)));
        }
        text.push_str(&format!("\n{}\n", self.table()));
        text.push_str(&format!("{}\n", self.sum()));
        text
    }

    /// By lines of the source: a line counts once, however many functions it was inlined into.
    fn sum(&self) -> String {
        let lines_hit = self.lines.iter().filter(|line| line.hits > 0).count();
        let ways = self.lines.iter().flat_map(|line| &line.branches);
        let (all, hit) = ways.fold((0, 0), |(all, hit), ways| (all + 2, hit + ways.hit()));
        format!("lines {}, branches {}", share(lines_hit, self.lines.len()), share(hit, all))
    }

    fn table(&self) -> String {
        let mut table = Table::new([
            Column::text("function"),
            Column::number("runs"),
            Column::number("lines"),
            Column::number("branches"),
        ]);
        for function in &self.functions {
            let CoveredFunction { lines, lines_hit, branches, branches_hit, .. } = function;
            table.row([
                function.name.clone(),
                function.hits.to_string(),
                share(*lines_hit, *lines),
                share(*branches_hit, *branches),
            ]);
        }
        table.to_string()
    }
}

impl CoveredLine {
    fn text(&self, paint: Paint) -> String {
        let ways: Vec<_> =
            self.branches.iter().map(|ways| format!("{}/{}", ways.taken, ways.not_taken)).collect();
        let source = self.text.replace('\t', "    ");
        let source = text::line(source.trim_end());
        let ways = match ways.is_empty() {
            true => String::new(),
            false => paint.dim(&format!("  [{}]", ways.join(" "))),
        };
        let (margin, line) = (margin(self.hits, paint), self.line);
        format!("{margin} {line:>5}  {source}{ways}\n")
    }
}

impl Ways {
    pub fn hit(self) -> usize {
        usize::from(self.taken > 0) + usize::from(self.not_taken > 0)
    }
}

/// A count, or a mark where nothing ran.
fn margin(hits: u64, paint: Paint) -> String {
    match hits {
        0 => paint.bad(&format!("{:>9}", "#####")),
        hits => format!("{hits:>9}"),
    }
}

fn share(hit: usize, all: usize) -> String {
    match all {
        0 => "none".to_owned(),
        _ => format!("{hit} of {all} ({:.1} %)", 100.0 * hit as f64 / all as f64),
    }
}
