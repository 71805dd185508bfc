//! The log as a listing: instructions left, source right, states left out.

use std::fmt::Write;

use super::log::{Line, Source, VerifierLog, classify};

/// Where the source column begins.
const COLUMN: usize = 56;

impl VerifierLog {
    /// The instructions that the verifier walked, each with its source line beside it.
    pub fn annotated(&self) -> String {
        let mut out = String::new();
        let mut source: Option<Source> = None;
        for line in self.text.lines().map(classify) {
            match line {
                Line::Source(comment) => source = Some(Source::parse(comment)),
                Line::Insn { slot, text } => {
                    // A line of source is shown once, at the first of its instructions.
                    let shown =
                        source.take().map(|source| format!("; {source}")).unwrap_or_default();
                    let left = format!("{slot:5}: {text}");
                    let row = format!("{left:COLUMN$}{shown}");
                    push(&mut out, row.trim_end());
                }
                Line::Message(text) if self.is_reason(text) => {
                    push(&mut out, &format!("   >>> {text}"))
                }
                // A long log comes without its start, so the first line may be half a line.
                Line::Message(_) | Line::Noise => {}
            }
        }
        out
    }
}

fn push(out: &mut String, row: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{row}");
}
