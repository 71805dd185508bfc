//! Where a motion ended, and what is shown there.

use serde::Serialize;
use spec::Spec;
use spec::disasm::{self, SpecNames};

use super::log::LogLine;
use super::place::is_path;
use super::position::Position;
use super::printer::Answer;
use super::scene::Scene;
use super::stack::StackFrame;
use crate::explain::file_name;

/// Where and why a motion ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stop {
    /// Packet and number of instructions that ran for it.
    #[serde(flatten)]
    pub position: Position,
    /// Why the motion ended here.
    pub reason: Reason,
    /// The next instruction; `null` after the last one of a packet.
    pub place: Option<FramePlace>,
    /// Verdict on the packet, after its last instruction.
    pub verdict: Option<&'static str>,
    /// The fault that stopped the program.
    pub fault: Option<String>,
    /// What the user must know about the motion.
    pub note: Option<String>,
    /// Messages of breakpoints that the motion passed, oldest first.
    pub log: Vec<LogLine>,
    /// Values of the expressions that are shown at each stop.
    pub displays: Vec<Display>,
}

/// An expression that is shown at each stop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Display {
    /// Number by which it is deleted.
    pub number: u32,
    /// Its value; without a type and with the reason as text if it has none here.
    #[serde(flatten)]
    pub answer: Answer,
}

/// Why a motion ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Reason {
    /// The position was requested by number, or is the beginning of the session.
    Position,
    /// The motion went as far as requested.
    Motion,
    /// A breakpoint was reached.
    Breakpoint {
        /// Number of the breakpoint.
        number: u32,
    },
    /// The value of an expression changed; going backward, the change was undone.
    Watchpoint {
        /// Number of the watchpoint.
        number: u32,
        /// The expression.
        expression: String,
        /// The value before the motion's last instruction.
        old: String,
        /// The value now.
        new: String,
    },
    /// The capture has no further packet.
    EndOfCapture,
    /// The capture begins here.
    StartOfCapture,
}

/// A place in the code of a function that is active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FramePlace {
    /// Name of the program.
    pub program: String,
    /// Name of the function.
    pub function: String,
    /// Whether the compiler inlined the function in the next one of the stack.
    pub inlined: bool,
    /// Number of active functions, this one included; inlined ones are not counted.
    pub depth: usize,
    /// The instruction: the next one; in a caller, the call.
    pub slot: usize,
    /// The disassembled instruction.
    pub insn: String,
    /// The source line, if the object has line information.
    pub source: Option<SourcePlace>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourcePlace {
    /// Path of the file as the compiler recorded it.
    pub file: String,
    /// Number of the line, from 1.
    pub line: u32,
    /// Text of the line.
    pub text: String,
}

impl FramePlace {
    pub(super) fn of(of: &StackFrame<'_>, spec: &Spec) -> Self {
        let (program, slot) = (&of.frame.program, of.frame.slot);
        let names = SpecNames { spec, program: program.source() };
        Self {
            program: program.name().to_owned(),
            function: of.function().to_owned(),
            inlined: of.inlined.is_some(),
            depth: of.frame.depth,
            slot,
            insn: disasm::insn(&program.source().insns, slot, &names),
            source: SourcePlace::of(of),
        }
    }
}

impl SourcePlace {
    /// The line of a function: the next one, or that of the call.
    fn of(of: &StackFrame<'_>) -> Option<Self> {
        let lines = of.frame.program.lines();
        let known = match (of.called, &of.frame.line) {
            (Some(called), _) if called.line == 0 => return None,
            (Some(called), _) => {
                let is_call = |one: &&vm::SourceLine| {
                    one.line == called.line && is_path(&one.file, &called.file)
                };
                let Some(known) = lines.iter().find(is_call) else {
                    let (file, text) = (file_name(&called.file).to_owned(), String::new());
                    return Some(Self { file, line: called.line, text });
                };
                known
            }
            (None, Some((file, line))) => {
                lines.iter().find(|one| one.line == *line && one.file == *file)?
            }
            (None, None) => return None,
        };
        let text = known.text.trim().to_owned();
        Some(Self { file: file_name(&known.file).to_owned(), line: known.line, text })
    }
}

impl Stop {
    pub(super) fn at(scene: &Scene<'_>, reason: Reason) -> Self {
        Self {
            position: scene.position,
            reason,
            place: scene.chosen().map(|frame| FramePlace::of(&frame, &scene.object.spec)),
            verdict: scene.run.map(|run| run.verdict.name()),
            fault: scene.run.and_then(|run| Some(run.fault.as_ref()?.to_string())),
            note: None,
            log: Vec::new(),
            displays: Vec::new(),
        }
    }
}
