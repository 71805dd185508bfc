//! Text of `run --trace`: every instruction of every packet, a line each.

use report::text;
use runner::Traced;

use crate::view::{Paint, View};

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
