//! Why the verifier refused a program: its log, the line that decides, and where in the source.

mod annotate;
mod hint;
mod log;

pub(crate) use log::is_whole;
pub use log::{Source, VerifierLog};
