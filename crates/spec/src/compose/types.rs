//! Types and source lines of a composed program.
//!
//! Rule: the kernel takes function types and lines for all functions or for none, so where one
//! object has types, types are generated for the others. Without types there are no lines either.

use super::MAIN;
use super::verdicts::{ENTRIES, HEAD_FIELDS, SLOT_SIZE, VERDICTS_MAP, value_size};
use crate::asm::Note;
use crate::btf::{Appended, Btf, Builder, Kind, Linkage};
use crate::model::{Function, Line, Program, Spec};

/// The types of all objects in one blob, unless none of them has any.
pub struct Types {
    /// What generated lines name as their file.
    file: &'static str,
    builder: Option<Builder>,
    made_up: Option<u32>,
}

impl Types {
    /// Creates the collector of types and notes; without `wanted` it collects nothing.
    pub fn new(file: &'static str, wanted: bool) -> Self {
        Self { file, builder: wanted.then(Builder::new), made_up: None }
    }

    /// Appends the types of an object.
    pub fn append(&mut self, btf: Option<&Btf>) -> Appended {
        match (&mut self.builder, btf) {
            (Some(builder), Some(btf)) => builder.append(btf),
            _ => Appended::default(),
        }
    }

    /// Key and value of the verdict map.
    pub fn counters(&mut self, slots: u32) -> [u32; 2] {
        let Some(builder) = &mut self.builder else { return [0, 0] };
        let key = builder.int("unsigned int", 32, false);
        let number = builder.int("unsigned long long", 64, false);
        let count = [("packets", number, 0), ("bytes", number, 64)];
        let count = builder.structure("xway_count", 16, &count);
        let counts = builder.array(count, key, ENTRIES);
        let bits = SLOT_SIZE * 8;
        let slot =
            [("verdicts", counts, 0), ("ns", number, bits - 128), ("samples", number, bits - 64)];
        let slot = builder.structure("xway_slot", SLOT_SIZE, &slot);
        let members = builder.array(slot, key, slots);
        let mut fields: Vec<_> =
            HEAD_FIELDS.iter().zip(0..).map(|(name, place)| (*name, number, 64 * place)).collect();
        fields.push(("members", members, 64 * HEAD_FIELDS.len() as u32));
        [key, builder.structure(VERDICTS_MAP, value_size(slots) as u32, &fields)]
    }

    /// The main function, of the same type as a program's entry.
    pub fn main(&mut self, spec: &Spec, entry: &Program, moved: Appended) -> Function {
        let type_id = self.function(spec, entry, moved, MAIN, Linkage::Global);
        Function { slot: 0, name: MAIN.to_owned(), type_id, global: false }
    }

    /// A program's entry function as a static or a global one. The `FUNC` is a new one: another
    /// program may call the old one as a global function.
    pub fn entry(&mut self, spec: &Spec, entry: &Program, moved: Appended, global: bool) -> u32 {
        let linkage = if global { Linkage::Global } else { Linkage::Static };
        self.function(spec, entry, moved, &entry.name, linkage)
    }

    /// Converts notes to source lines.
    pub fn lines(&mut self, notes: &[Note]) -> Vec<Line> {
        let mut lines = Vec::new();
        for (note, number) in notes.iter().zip(1..) {
            lines.extend(self.line(note.slot, &note.text, number));
        }
        lines
    }

    /// Gives a type and a line to each function that has none.
    pub fn complete(&mut self, program: &mut Program) {
        if self.builder.is_none() {
            program.lines.clear();
            return;
        }
        for function in &mut program.functions {
            if function.type_id == 0 {
                let proto = self.made_up();
                function.type_id = self.func(&function.name, proto, Linkage::Static);
                function.global = false;
            }
            let found = program.lines.binary_search_by_key(&function.slot, |line| line.slot);
            if let Err(place) = found {
                let line = self.line(function.slot, &function.name, 1);
                program.lines.splice(place..place, line);
            }
        }
    }

    /// Builds the types.
    pub fn build(self) -> Result<Option<Btf>, crate::Error> {
        self.builder.map(|builder| builder.build()).transpose()
    }

    fn function(
        &mut self,
        spec: &Spec,
        entry: &Program,
        moved: Appended,
        name: &str,
        linkage: Linkage,
    ) -> u32 {
        let proto = proto(spec, entry).map(|id| moved.type_id(id));
        let proto = proto.or_else(|| self.made_up());
        self.func(name, proto, linkage)
    }

    fn func(&mut self, name: &str, proto: Option<u32>, linkage: Linkage) -> u32 {
        let parts = self.builder.as_mut().zip(proto);
        parts.map_or(0, |(builder, proto)| builder.func(name, proto, linkage))
    }

    /// `int (void *ctx)`: the verifier does not rely on the type of a static function.
    fn made_up(&mut self) -> Option<u32> {
        let builder = self.builder.as_mut()?;
        Some(*self.made_up.get_or_insert_with(|| {
            let int = builder.int("int", 32, true);
            let pointer = builder.ptr(0);
            builder.func_proto(int, &[("ctx", pointer)])
        }))
    }

    fn line(&mut self, slot: usize, text: &str, line: u32) -> Option<Line> {
        let builder = self.builder.as_mut()?;
        let [file, text] = [self.file, text].map(|text| builder.string(text));
        Some(Line { slot, file, text, line, column: 1 })
    }
}

/// The prototype of a program's entry, in its object's own types.
fn proto(spec: &Spec, entry: &Program) -> Option<u32> {
    let func = spec.btf.as_ref()?.ty(entry.functions.first()?.type_id)?;
    (func.kind() == Kind::Func).then(|| func.target())
}
