//! An assembler: programs written as Rust method calls, with labels and named registers.
//!
//! ```
//! use spec::asm::{Assembler, Cond, Reg::*};
//! use spec::{ProgramKind, Verdict};
//!
//! let mut a = Assembler::new("only_ipv4", ProgramKind::XDP);
//! let drop = a.label();
//! a.note("packets shorter than an Ethernet header");
//! a.packet(R2, R3, R1).need(R2, R3, 14, R4, drop);
//! a.note("anything but IPv4");
//! a.load16(R4, R2.at(12)).jump_if(R4, Cond::Ne, 0x0008, drop);
//! a.verdict(Verdict::Pass);
//! a.bind(drop).verdict(Verdict::Drop);
//! let program = a.finish()?;
//! # assert_eq!(program.insns.len(), 11);
//! # Ok::<(), spec::asm::Error>(())
//! ```
//!
//! Every method appends; nothing fails before [`Assembler::finish`], which resolves labels and
//! reports the first mistake. [`Object`] makes a whole [`Spec`](crate::Spec) with maps, types and
//! notes as source lines. Not here: optimisation. What is written is what is loaded.

mod alu;
mod call;
mod error;
mod finish;
mod function_types;
mod helper;
mod jump;
mod memory;
mod object;
mod operand;
mod packet;
pub mod source;
pub mod text;

pub use alu::Alu;
pub use call::MapRef;
pub use error::{Error, Fault};
pub(crate) use finish::Fragment;
pub use helper::Helper;
pub use jump::Cond;
pub use memory::{Atomic, Size, Width};
pub use object::Object;
pub use operand::{MemRef, Operand, Reg};

use crate::insn::Insn;
use crate::model::{ProgramKind, Target};

/// One program under construction: an entry function, followed by local functions.
#[derive(Clone, Debug)]
pub struct Assembler {
    name: String,
    kind: ProgramKind,
    insns: Vec<Insn>,
    labels: Vec<Option<usize>>,
    patches: Vec<Patch>,
    functions: Vec<(usize, String)>,
    references: Vec<(usize, Reference)>,
    /// Calls of functions that the assembler has not: slot and name.
    calls: Vec<(usize, String)>,
    notes: Vec<Note>,
    fault: Option<Fault>,
}

/// A place in the program, before or after it is known where. Belongs to one assembler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(usize);

/// A slot whose distance to a label is filled in at the end.
#[derive(Clone, Copy, Debug)]
struct Patch {
    slot: usize,
    label: Label,
    form: Form,
}

/// Where and how an instruction carries its distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A jump with a 16-bit offset.
    Near,
    /// `gotol`: the distance is in the immediate.
    Far,
    /// A local call.
    Call,
    /// The address of a local function, in a wide load.
    Address,
}

/// A slot that the runtime must fill in.
#[derive(Clone, Debug)]
enum Reference {
    Map(MapRef),
    MapValue(MapRef, u32),
    Other(Target),
}

/// What a stretch of instructions is for; becomes a source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The instruction that the note precedes.
    pub slot: usize,
    /// Text of the note.
    pub text: String,
}

impl Assembler {
    /// Creates an empty program.
    pub fn new(name: impl Into<String>, kind: ProgramKind) -> Self {
        Self {
            name: name.into(),
            kind,
            insns: Vec::new(),
            labels: Vec::new(),
            patches: Vec::new(),
            functions: Vec::new(),
            references: Vec::new(),
            calls: Vec::new(),
            notes: Vec::new(),
            fault: None,
        }
    }

    /// Number of slots so far, which is the slot of the next instruction.
    pub fn slot(&self) -> usize {
        self.insns.len()
    }

    /// A label to jump to, placed later (or now, for a loop) with [`bind`](Self::bind).
    #[must_use = "an unbound label is of no use"]
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label here. Twice is a mistake, reported at the end.
    pub fn bind(&mut self, label: Label) -> &mut Self {
        let slot = self.slot();
        match self.labels.get_mut(label.0) {
            Some(place @ None) => *place = Some(slot),
            Some(Some(first)) => {
                let fault = Fault::BoundTwice { label: label.0, first: *first, again: slot };
                self.fail(fault);
            }
            None => self.fail(Fault::Foreign { label: label.0 }),
        }
        self
    }

    /// A label placed here: the head of a loop.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    /// Begins a local function here; [`call_local`](Self::call_local) calls it by its label.
    pub fn function(&mut self, label: Label, name: impl Into<String>) -> &mut Self {
        self.functions.push((self.slot(), name.into()));
        self.bind(label)
    }

    /// Describes the following instructions. Verifier logs, dumps and traces show it as
    /// the source line. Two notes at one place are joined.
    pub fn note(&mut self, text: impl AsRef<str>) -> &mut Self {
        let slot = self.slot();
        let text = text.as_ref().replace(char::is_control, " ");
        match self.notes.last_mut() {
            Some(last) if last.slot == slot => {
                last.text.push_str("; ");
                last.text.push_str(&text);
            }
            _ => self.notes.push(Note { slot, text }),
        }
        self
    }

    /// Appends one instruction as it is: for what has no method of its own.
    pub fn raw(&mut self, insn: Insn) -> &mut Self {
        self.insns.push(insn);
        self
    }

    fn op(&mut self, code: u8, dst: Reg, src: Reg, off: i16, imm: i32) -> &mut Self {
        self.raw(Insn::new(code, dst.number(), src.number(), off, imm))
    }

    fn patch(&mut self, label: Label, form: Form) {
        self.patches.push(Patch { slot: self.slot(), label, form });
    }

    fn refer(&mut self, reference: Reference) {
        self.references.push((self.slot(), reference));
    }

    /// Keeps the first mistake only: the later ones may follow from it.
    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests;
