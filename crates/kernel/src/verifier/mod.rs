//! Why the verifier rejected a program: its log, the decisive line, and the source position.

mod annotate;
mod hint;
mod log;

pub(crate) use log::is_whole;
pub use log::{Source, VerifierLog};
