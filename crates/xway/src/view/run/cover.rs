//! Text of `run --cover`: which source lines ran, how often, and which branches were taken.

use report::table::Column;
use report::{Table, text};
use serde::Serialize;

use crate::view::Paint;

/// The coverage of a run, which the command composes of the engine's counts.
#[derive(Debug, Serialize)]
pub struct Covered {
    /// Runs of programs, those after redirects included.
    pub runs: u64,
    /// Functions of all programs.
    pub functions: Vec<CoveredFunction>,
    /// Source lines by file and number; empty for objects without line information.
    pub lines: Vec<CoveredLine>,
    /// Instructions of programs without line information.
    pub instructions: Vec<CoveredInsn>,
}

/// One function.
#[derive(Debug, Serialize)]
pub struct CoveredFunction {
    /// Name of the program.
    pub program: String,
    /// Name of the function.
    pub name: String,
    /// Source file.
    pub file: String,
    /// Line of its beginning; 0 without line information.
    pub line: u32,
    /// Runs of the function.
    pub hits: u64,
    /// Source lines, those of functions inlined into it included.
    pub lines: usize,
    /// Lines of these that ran.
    pub lines_hit: usize,
    /// Branches: two for each conditional jump.
    pub branches: usize,
    /// Branches of these that were taken.
    pub branches_hit: usize,
}

/// One source line.
#[derive(Debug, Serialize)]
pub struct CoveredLine {
    /// Source file.
    pub file: String,
    /// Number of the line.
    pub line: u32,
    /// The line's text.
    pub text: String,
    /// Runs of the line.
    pub hits: u64,
    /// Conditional jumps of the line.
    pub branches: Vec<BranchCounts>,
}

/// Outcomes of a conditional jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BranchCounts {
    /// Times that the jump was taken.
    pub taken: u64,
    /// Times that it was not taken.
    pub not_taken: u64,
}

/// One instruction.
#[derive(Debug, Serialize)]
pub struct CoveredInsn {
    /// Name of the program.
    pub program: String,
    /// Number of the instruction.
    pub slot: usize,
    /// The instruction in the kernel's notation.
    pub text: String,
    /// Runs of the instruction.
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
        let counts = self.lines.iter().flat_map(|line| &line.branches);
        let (all, hit) = counts.fold((0, 0), |(all, hit), counts| (all + 2, hit + counts.hit()));
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
        let counts: Vec<_> = self
            .branches
            .iter()
            .map(|counts| format!("{}/{}", counts.taken, counts.not_taken))
            .collect();
        let source = self.text.replace('\t', "    ");
        let source = text::line(source.trim_end());
        let counts = match counts.is_empty() {
            true => String::new(),
            false => paint.dim(&format!("  [{}]", counts.join(" "))),
        };
        let (margin, line) = (margin(self.hits, paint), self.line);
        format!("{margin} {line:>5}  {source}{counts}\n")
    }
}

impl BranchCounts {
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
