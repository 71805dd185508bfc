//! Hooks that record runs: a trace of events, coverage of instructions, changed map elements.
//!
//! Rule: each observes through [`Hook`](crate::Hook) alone. Not here: `taint`.

mod changes;
mod coverage;
mod trace;

pub use changes::{ChangedElements, Changes};
pub use coverage::{BranchCoverage, Coverage, FunctionCoverage, LineCoverage, ProgramCoverage};
pub use trace::{Event, Trace};
