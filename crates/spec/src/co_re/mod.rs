//! CO-RE: field offsets, sizes and existence that depend on the target's types.
//!
//! An object records each access by type and path in its own BTF; [`Spec::relocate`] finds the
//! same path in the target's BTF (a kernel's, or our own engine's) and patches the instruction.
//! Rule: an access that the target lacks becomes an instruction that the verifier rejects, so the
//! program still loads if that code is unreachable. The meaning of each relocation is libbpf's.

mod answer;
mod compatible;
mod patch;
mod path;

use crate::btf::Btf;
use crate::error::{Error, Place};
use crate::model::{FieldRelocation, Fixup, Program, Spec, Target, Unresolved};

pub use crate::error::RelocationError;

use self::answer::{Answer, Question};

/// The property of a field, type or enumerator that a relocation requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FieldKind {
    ByteOffset,
    ByteSize,
    Exists,
    Signed,
    LeftShift,
    RightShift,
    TypeIdLocal,
    TypeIdTarget,
    TypeExists,
    TypeSize,
    EnumExists,
    EnumValue,
    TypeMatches,
}

impl FieldKind {
    const ALL: [Self; 13] = [
        Self::ByteOffset,
        Self::ByteSize,
        Self::Exists,
        Self::Signed,
        Self::LeftShift,
        Self::RightShift,
        Self::TypeIdLocal,
        Self::TypeIdTarget,
        Self::TypeExists,
        Self::TypeSize,
        Self::EnumExists,
        Self::EnumValue,
        Self::TypeMatches,
    ];

    /// The kind of a `BPF_CORE_*` number; `None` if it is unknown.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    /// Whether it concerns a whole type, as opposed to a field or enumerator.
    fn is_type(self) -> bool {
        matches!(
            self,
            Self::TypeIdLocal
                | Self::TypeIdTarget
                | Self::TypeExists
                | Self::TypeSize
                | Self::TypeMatches
        )
    }

    fn is_enum(self) -> bool {
        matches!(self, Self::EnumExists | Self::EnumValue)
    }

    fn text(self) -> &'static str {
        match self {
            Self::ByteOffset => "offset of",
            Self::ByteSize => "size of",
            Self::Exists | Self::TypeExists | Self::EnumExists => "existence of",
            Self::Signed => "signedness of",
            Self::LeftShift | Self::RightShift => "shift of",
            Self::TypeIdLocal | Self::TypeIdTarget => "id of",
            Self::TypeSize => "size of",
            Self::EnumValue => "value of",
            Self::TypeMatches => "match of",
        }
    }
}

impl Spec {
    /// Whether some program has field relocations, so that [`Spec::relocate`] is needed.
    pub fn needs_target(&self) -> bool {
        let mut fixups = self.programs.iter().flat_map(|program| &program.fixups);
        fixups.any(|fixup| matches!(fixup.target, Target::Field(_)))
    }

    /// Resolves all field relocations against `target`, the BTF of where the object will run.
    ///
    /// What the target lacks is listed in [`Program::unresolved`]; that is not an error, for a
    /// program may test for existence and branch around the access.
    ///
    /// # Errors
    /// [`Error::Relocation`] for one that contradicts its instruction or its own types, or for
    /// which several types of the target yield different values. The object is then unchanged.
    pub fn relocate(&mut self, target: &Btf) -> Result<(), Error> {
        if self.needs_target() { self.resolve_fields(Some(target)) } else { Ok(()) }
    }

    /// Resolves relocations that depend on the object's own types alone.
    pub(crate) fn resolve_local(&mut self) -> Result<(), Error> {
        let local = |fixup: &Fixup| match &fixup.target {
            Target::Field(field) => field.kind == FieldKind::TypeIdLocal as u32,
            _ => false,
        };
        let mut fixups = self.programs.iter().flat_map(|program| &program.fixups);
        if fixups.any(local) { self.resolve_fields(None) } else { Ok(()) }
    }

    fn resolve_fields(&mut self, target: Option<&Btf>) -> Result<(), Error> {
        let Some(btf) = self.btf.take() else { return Ok(()) };
        let mut programs = self.programs.clone();
        let resolver = Resolver { file: &self.name, local: &btf, target };
        let done = programs.iter_mut().try_for_each(|program| resolver.program(program));
        self.btf = Some(btf);
        done?;
        self.programs = programs;
        Ok(())
    }
}

struct Resolver<'a> {
    file: &'a str,
    local: &'a Btf,
    target: Option<&'a Btf>,
}

impl Resolver<'_> {
    fn program(&self, program: &mut Program) -> Result<(), Error> {
        let fixups = std::mem::take(&mut program.fixups);
        for fixup in fixups {
            match &fixup.target {
                Target::Field(field) if self.is_answerable(field) => {
                    self.field(program, fixup.slot, field)?;
                }
                _ => program.fixups.push(fixup),
            }
        }
        Ok(())
    }

    fn is_answerable(&self, field: &FieldRelocation) -> bool {
        self.target.is_some() || field.kind == FieldKind::TypeIdLocal as u32
    }

    fn field(
        &self,
        program: &mut Program,
        slot: usize,
        field: &FieldRelocation,
    ) -> Result<(), Error> {
        let wrong = |cause| {
            let at = Place::new(self.file).section(&program.section);
            let at = at.symbol(&program.name).offset(slot as u64 * 8);
            Error::Relocation { at, cause }
        };
        let question = Question::new(self.local, field).map_err(wrong)?;
        let answer = question.ask(self.target).map_err(wrong)?;
        let unresolved = match answer {
            Answer::Value(value) => patch::insn(&mut program.insns, slot, &value).map_err(wrong)?,
            Answer::Missing(why) => Some(why),
        };
        if let Some(why) = unresolved {
            patch::poison(&mut program.insns, slot);
            let text = format!("{question}: {why}");
            program.unresolved.push(Unresolved { slot, text });
        }
        Ok(())
    }
}
