//! Origin of a slot: function, source line, text of the instruction.

use std::sync::Arc;

use spec::btf::Btf;
use spec::disasm;

use super::Program;
use crate::fault::Site;

/// A position in the source code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The first slot of the line.
    pub slot: usize,
    /// Path of the file as the compiler recorded it.
    pub file: Arc<str>,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1.
    pub column: u32,
    /// Text of the line.
    pub text: Arc<str>,
}

/// The program's source positions, sorted by slot.
pub(super) fn lines(source: &spec::Program, btf: Option<&Btf>) -> Box<[SourceLine]> {
    let Some(btf) = btf else { return Box::default() };
    let mut strings = std::collections::HashMap::new();
    let mut string = |offset: u32| -> Arc<str> {
        Arc::clone(
            strings
                .entry(offset)
                .or_insert_with(|| Arc::from(btf.string(offset).unwrap_or_default())),
        )
    };
    let lines = source.lines.iter().map(|line| SourceLine {
        slot: line.slot,
        file: string(line.file),
        line: line.line,
        column: line.column,
        text: string(line.text),
    });
    lines.collect()
}

impl Program {
    /// All source positions, sorted by slot; empty without line information.
    pub fn lines(&self) -> &[SourceLine] {
        &self.lines
    }

    /// The source line of a slot: the last that starts at or before it in the same function.
    pub fn line_at(&self, slot: usize) -> Option<&SourceLine> {
        let function = self.source.function_at(slot).map_or(0, |function| function.slot);
        let after = self.lines.partition_point(|line| line.slot <= slot);
        let line = self.lines[..after].last()?;
        (line.slot >= function).then_some(line)
    }

    /// Name of the function that holds a slot; the program's name if the object has none.
    pub fn function_name(&self, slot: usize) -> &str {
        match self.source.function_at(slot) {
            Some(function) if !function.name.is_empty() => &function.name,
            _ => self.name(),
        }
    }

    /// The disassembled instruction at a slot.
    pub fn disassemble(&self, slot: usize) -> String {
        disasm::insn(&self.source.insns, slot, &disasm::Plain)
    }

    /// The description of a slot for a fault.
    #[cold]
    pub(crate) fn site(&self, slot: usize, register: Option<u8>) -> Site {
        let source = self.line_at(slot);
        Site {
            program: self.name().to_owned(),
            function: self.function_name(slot).to_owned(),
            slot,
            insn: self.disassemble(slot),
            register,
            source: source.map(|line| (line.file.to_string(), line.line, line.text.to_string())),
        }
    }
}
