//! Every instruction of every packet, a line each.
//!
//! Field names are promised in `docs/json.md`.

use std::collections::BTreeMap;

use report::text;
use serde::Serialize;

use crate::view::{Paint, View};

/// One line of a trace.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Traced {
    /// A packet comes in.
    Packet { packet: u64, summary: String, bytes: usize },
    Insn {
        packet: u64,
        program: String,
        function: String,
        depth: usize,
        slot: usize,
        text: String,
        /// Registers that it set, with their values in words.
        set: BTreeMap<String, String>,
        /// Where a source line begins.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
    },
    /// A program ended.
    End { packet: u64, returned: Option<u64>, fault: Option<String> },
    /// What became of the packet, and what was wrong when its program had ended.
    Verdict { packet: u64, verdict: &'static str, bytes: usize, fault: Option<String> },
}

#[derive(Debug, Serialize)]
pub struct Source {
    pub file: String,
    pub line: u32,
    pub text: String,
}

impl View for Traced {
    fn text(&self, paint: Paint) -> String {
        match self {
            Self::Packet { packet, summary, bytes } => {
                paint.bold(&format!("packet {packet}: {summary} ({bytes} bytes)"))
            }
            Self::Insn { depth, slot, text, set, source, .. } => {
                let indent = "  ".repeat(*depth);
                let set: Vec<_> =
                    set.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let insn = format!("{indent}{slot:>5}: {text:INSN$} {}", set.join(" "));
                let insn = text::line(&insn);
                let Some(source) = source else { return insn.trim_end().to_owned() };
                let line = format!("{indent}{}:{}: {}", source.file, source.line, source.text);
                format!("{}\n{}", paint.dim(&line), insn.trim_end())
            }
            Self::End { fault: Some(fault), .. } => {
                format!("  {}", paint.bad(&format!("fault: {fault}")))
            }
            Self::End { returned, .. } => {
                format!("  returned {:#x}", returned.unwrap_or_default())
            }
            Self::Verdict { verdict, bytes, fault, .. } => {
                let fault = fault.as_ref().map(|fault| paint.bad(&format!("  fault: {fault}\n")));
                let verdict = paint.bold(&format!("verdict {verdict}"));
                format!("{}{verdict} ({bytes} bytes)\n", fault.unwrap_or_default())
            }
        }
    }
}

/// Columns of an instruction.
const INSN: usize = 40;
