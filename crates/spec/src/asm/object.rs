//! A whole object from generated programs: maps resolved, functions typed, notes as source lines.
//!
//! Every function gets a BTF `FUNC` and a source line at its first slot, because the kernel takes
//! either none or all of them.

use super::function_types::FunctionTypes;
use super::{Assembler, Error, Fault, MapRef, Note};
use crate::model::{Line, MapDef, Program, Spec};

/// Programs and maps under construction; [`finish`](Self::finish) makes the [`Spec`].
#[derive(Clone, Debug, Default)]
pub struct Object {
    name: String,
    license: String,
    maps: Vec<MapDef>,
    programs: Vec<Assembler>,
}

impl Object {
    /// `license` as the kernel reads it: many helpers want a GPL-compatible one.
    pub fn new(name: impl Into<String>, license: impl Into<String>) -> Self {
        Self { name: name.into(), license: license.into(), ..Self::default() }
    }

    /// Declares a map. Programs may also refer to it by its name.
    pub fn map(&mut self, map: MapDef) -> MapRef {
        self.maps.push(map);
        MapRef::Index(self.maps.len() - 1)
    }

    /// Adds a program.
    pub fn program(&mut self, program: Assembler) -> &mut Self {
        self.programs.push(program);
        self
    }

    /// Resolves labels and references, and returns the object.
    ///
    /// # Errors
    /// The first mistake of the first program that has one.
    pub fn finish(self) -> Result<Spec, Error> {
        let mut types = Types::new(&self.name);
        let mut programs: Vec<Program> = Vec::new();
        for assembler in self.programs {
            let (mut program, notes) = assembler.assemble(Some(&self.maps))?;
            if programs.iter().any(|known| known.name == program.name) {
                return Err(Error { program: program.name, fault: Fault::NameTaken });
            }
            types.describe(&mut program, notes);
            programs.push(program);
        }
        let fault =
            |error| Error { program: self.name.clone(), fault: Fault::Types(Box::new(error)) };
        let btf = types.functions.builder.build().map_err(fault)?;
        Ok(Spec {
            name: self.name,
            license: self.license,
            programs,
            maps: self.maps,
            btf: Some(btf),
            ..Spec::default()
        })
    }
}

/// The types of generated functions, and where their source lines come from.
struct Types {
    functions: FunctionTypes,
    file: u32,
}

impl Types {
    fn new(file: &str) -> Self {
        let mut functions = FunctionTypes::default();
        let file = functions.builder.string(file);
        Self { functions, file }
    }

    /// Gives each function its `FUNC` and turns notes into lines.
    fn describe(&mut self, program: &mut Program, notes: Vec<Note>) {
        for (number, function) in program.functions.iter_mut().enumerate() {
            let entry = number == 0;
            let xdp = entry && program.kind.is_xdp();
            function.type_id = self.functions.function(&function.name, entry, xdp);
        }
        let heads = program.functions.iter().map(|function| (function.slot, &*function.name));
        let places = with_heads(notes, heads);
        let line = |(text, line): (Note, u32)| Line {
            slot: text.slot,
            file: self.file,
            text: self.functions.builder.string(&text.text),
            line,
            column: 1,
        };
        program.lines = places.into_iter().zip(1..).map(line).collect();
    }
}

/// Adds a note with its name to each function that starts without one.
fn with_heads<'a>(
    mut notes: Vec<Note>,
    heads: impl Iterator<Item = (usize, &'a str)>,
) -> Vec<Note> {
    for (slot, name) in heads {
        if let Err(place) = notes.binary_search_by_key(&slot, |note| note.slot) {
            notes.insert(place, Note { slot, text: name.to_owned() });
        }
    }
    notes
}
