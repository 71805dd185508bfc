//! `Covered`: which source lines ran, how often, and which branches were taken.

use serde::Serialize;

/// The coverage of a run, composed of the engine's counts.
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

impl BranchCounts {
    /// Outcomes that occurred: 0 to 2.
    pub fn hit(self) -> usize {
        usize::from(self.taken > 0) + usize::from(self.not_taken > 0)
    }
}
