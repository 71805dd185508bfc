//! A whole object from generated programs: maps resolved, functions typed, notes as source lines.
//!
//! Every function gets a BTF `FUNC` and a source line at its first slot, because the kernel takes
//! either none or all of them.

use super::{Assembler, Error, Fault, MapRef, Note};
use crate::btf::{Builder, Linkage};
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
        let btf = types.builder.build().map_err(fault)?;
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

/// The object's types: one prototype for XDP functions, one for all others.
struct Types {
    builder: Builder,
    int: u32,
    file: u32,
    xdp: Option<u32>,
    other: Option<u32>,
}

impl Types {
    fn new(file: &str) -> Self {
        let mut builder = Builder::new();
        let int = builder.int("int", 32, true);
        let file = builder.string(file);
        Self { builder, int, file, xdp: None, other: None }
    }

    /// Gives each function its `FUNC` and turns notes into lines.
    fn describe(&mut self, program: &mut Program, notes: Vec<Note>) {
        for (number, function) in program.functions.iter_mut().enumerate() {
            let entry = number == 0;
            let proto = if entry && program.kind.is_xdp() { self.xdp() } else { self.other() };
            let linkage = if entry { Linkage::Global } else { Linkage::Static };
            function.type_id = self.builder.func(&identifier(&function.name), proto, linkage);
        }
        let heads = program.functions.iter().map(|function| (function.slot, &*function.name));
        let places = with_heads(notes, heads);
        let line = |(text, line): (Note, u32)| Line {
            slot: text.slot,
            file: self.file,
            text: self.builder.string(&text.text),
            line,
            column: 1,
        };
        program.lines = places.into_iter().zip(1..).map(line).collect();
    }

    /// `int (struct xdp_md *ctx)`
    fn xdp(&mut self) -> u32 {
        let Self { builder, int, xdp, .. } = self;
        *xdp.get_or_insert_with(|| {
            let word = builder.int("unsigned int", 32, false);
            let fields = XDP_MD.map(|(name, bits)| (name, word, bits));
            let context = builder.structure("xdp_md", 24, &fields);
            let pointer = builder.ptr(context);
            builder.func_proto(*int, &[("ctx", pointer)])
        })
    }

    /// `int (void *ctx)`
    fn other(&mut self) -> u32 {
        let Self { builder, int, other, .. } = self;
        *other.get_or_insert_with(|| {
            let pointer = builder.ptr(0);
            builder.func_proto(*int, &[("ctx", pointer)])
        })
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

/// The kernel takes only C identifiers as function names.
fn identifier(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut text: String = name.chars().map(letter).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        text.insert(0, '_');
    }
    text
}

/// `struct xdp_md`: fields and their offsets in bits.
const XDP_MD: [(&str, u32); 6] = [
    ("data", 0),
    ("data_end", 32),
    ("data_meta", 64),
    ("ingress_ifindex", 96),
    ("rx_queue_index", 128),
    ("egress_ifindex", 160),
];
