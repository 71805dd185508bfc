//! The programs of an object file, disassembled as the compiler left them.

use kernel::Source;
use serde::Serialize;
use spec::disasm::{self, SpecNames};
use spec::{Insn, Program, Spec};

use super::{Function, Instruction};

/// The programs of an object, disassembled.
#[derive(Debug, Serialize)]
pub struct ObjectListing {
    /// Name of the object.
    pub object: String,
    /// Programs in the order of the object.
    pub programs: Vec<ObjectProgram>,
}

/// A program of an object.
#[derive(Debug, Default, Serialize)]
pub struct ObjectProgram {
    /// Name of the program.
    pub name: String,
    /// Section that contains it, which determines its type.
    pub section: String,
    /// Functions in the order of the program: its own, and those that it calls.
    pub functions: Vec<Function>,
}

/// Disassembles programs of an object.
pub fn object_listing(spec: &Spec, programs: &[&Program]) -> ObjectListing {
    let listed = programs.iter().map(|program| ObjectProgram {
        name: program.name.clone(),
        section: program.section.clone(),
        functions: functions(spec, program),
    });
    ObjectListing { object: spec.name.clone(), programs: listed.collect() }
}

fn functions(spec: &Spec, program: &Program) -> Vec<Function> {
    let names = SpecNames { spec, program };
    let ends = program.functions.iter().skip(1).map(|next| next.slot);
    let ends = ends.chain([program.insns.len()]);
    let functions = program.functions.iter().zip(ends).map(|(function, end)| Function {
        name: function.name.clone(),
        address: None,
        instructions: disasm::slots(&program.insns)
            .filter(|slot| (function.slot..end).contains(slot))
            .map(|slot| instruction(&names, slot))
            .collect(),
    });
    functions.collect()
}

fn instruction(names: &SpecNames<'_>, slot: usize) -> Instruction {
    let insns = &names.program.insns;
    let width = if insns[slot].is_wide() { 2 } else { 1 };
    Instruction {
        at: slot,
        text: disasm::insn(insns, slot, names),
        bytes: packet::hex(&Insn::bytes(&insns[slot..(slot + width).min(insns.len())])),
        source: source(names, slot),
        hits: None,
    }
}

/// The source line that begins at a slot.
fn source(names: &SpecNames<'_>, slot: usize) -> Option<Source> {
    let types = names.spec.btf.as_ref()?;
    let line = names.program.lines.iter().find(|line| line.slot == slot)?;
    let text = |offset| types.string(offset).unwrap_or_default().to_owned();
    Some(Source { text: text(line.text).trim().to_owned(), file: text(line.file), line: line.line })
}

#[cfg(test)]
mod tests {
    use spec::ProgramKind;
    use spec::asm::{Assembler, Object, Reg};

    use super::*;

    #[test]
    fn each_program_has_its_functions() {
        let mut object = Object::new("two", "GPL");
        for (name, value) in [("first", 7), ("second", 9)] {
            let mut program = Assembler::new(name, ProgramKind::XDP);
            program.mov32(Reg::R0, value).exit();
            object.program(program);
        }
        let spec = object.finish().unwrap();
        let listing = object_listing(&spec, &spec.programs.iter().collect::<Vec<_>>());
        let texts: Vec<_> = listing
            .programs
            .iter()
            .map(|program| {
                let instructions = &program.functions[0].instructions;
                (&*program.name, &*instructions[0].text, &*instructions[1].text)
            })
            .collect();
        let expected =
            [("first", "(b4) w0 = 7", "(95) exit"), ("second", "(b4) w0 = 9", "(95) exit")];
        assert_eq!(texts, expected);
    }
}
