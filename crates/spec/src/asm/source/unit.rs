//! `Unit`: what has been read of a source: sections and symbols.
//!
//! Rule: a section holds either instructions or bytes, and its size never exceeds the limit.

use std::collections::HashMap;

use crate::asm::text::cursor::{Cursor, Result, Spot};
use crate::asm::text::output::Output;
use crate::insn::Insn;
use crate::limits::MAX_DATA;
use crate::model::MapDef;

/// An object under construction.
#[derive(Debug, Default)]
pub(super) struct Unit<'a> {
    /// In the order of their first mention.
    pub sections: Vec<Section<'a>>,
    /// In the order of their first mention.
    pub symbols: Vec<Symbol<'a>>,
    /// What `.map` has declared, with the number of its symbol.
    pub maps: Vec<Map>,
    by_name: HashMap<String, usize>,
    current: Option<usize>,
    /// Whether lines are left out: those of sections for debuggers.
    pub skipped: bool,
}

/// A map that `.map` has declared.
#[derive(Debug)]
pub(super) struct Map {
    /// Its definition.
    pub def: MapDef,
    /// Number of its symbol.
    pub symbol: usize,
    /// Number of elements that `.values` fills in, the highest index and one.
    pub values: u32,
}

/// A section under construction.
#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    /// Name of the section.
    pub name: String,
    /// `SHF_*`; `None` as long as no directive gives them.
    pub flags: Option<u64>,
    /// Size of an element of a section that may be merged.
    pub element: u64,
    /// Whether the file holds no bytes of it.
    pub zero: bool,
    /// Alignment in bytes.
    pub align: u64,
    /// The instructions.
    pub code: Output<'a>,
    /// The source line of each instruction.
    pub lines: Vec<Line<'a>>,
    /// The bytes of a section without instructions.
    pub bytes: Vec<u8>,
    /// Values that depend on symbols.
    pub values: Vec<Value<'a>>,
    /// References that remain for the loader.
    pub relocations: Vec<Relocation>,
}

/// A place that the loader completes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    /// Offset in the section.
    pub offset: u64,
    /// `R_BPF_*`.
    pub kind: u32,
    /// What it refers to.
    pub referent: Referent,
}

/// What a relocation refers to, by its number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Referent {
    Symbol(usize),
    /// The start of a section; the distance is where the relocation applies.
    Section(usize),
}

/// Where an instruction stands in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// The instruction.
    pub slot: usize,
    /// Number of the line, from 1.
    pub line: usize,
    /// Text of the line.
    pub text: &'a str,
}

/// Bytes whose value depends on symbols.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    /// Offset in the section.
    pub offset: u64,
    /// Size in bytes.
    pub size: usize,
    /// Its value.
    pub expression: Expression<'a>,
}

/// A number, or what becomes one at the end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expression<'a> {
    Number(u64),
    /// The address of a symbol and a number of bytes after it.
    Symbol(Spot<'a>, i64),
    /// The distance from the second to the first.
    Distance(Point<'a>, Point<'a>),
}

/// A place in a section.
#[derive(Clone, Copy, Debug)]
pub(super) enum Point<'a> {
    Symbol(Spot<'a>),
    /// `.`: section and offset.
    Here(usize, u64, Spot<'a>),
}

/// A named place, here or in another object.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbol<'a> {
    /// Name of the symbol.
    pub name: String,
    /// Section and offset; `None` if it is defined elsewhere.
    pub place: Option<(usize, u64)>,
    /// Line of its definition.
    pub line: usize,
    /// How other objects see it.
    pub binding: Binding,
    /// Whether other objects do not see it after linking.
    pub hidden: bool,
    /// What it names.
    pub kind: Option<Kind>,
    /// Size in bytes, as given.
    pub size: Option<Expression<'a>>,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the symbol table must have it.
    pub needed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Binding {
    #[default]
    Local,
    Global,
    Weak,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Function,
    Object,
}

impl<'a> Unit<'a> {
    /// Whether the source contains types.
    pub fn has_types(&self) -> bool {
        self.sections.iter().any(|section| section.name == ".BTF")
    }

    /// Finds a symbol by its name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The number of a symbol, which is added if it is new.
    pub fn symbol(&mut self, name: &str) -> usize {
        if let Some(found) = self.find(name) {
            return found;
        }
        self.symbols.push(Symbol { name: name.to_owned(), ..Symbol::default() });
        self.by_name.insert(name.to_owned(), self.symbols.len() - 1);
        self.symbols.len() - 1
    }

    /// Defines a symbol at the end of the current section.
    pub fn define(&mut self, line: usize, spot: Spot<'a>) -> Result<usize> {
        let section = self.current();
        let place = (section, self.sections[section].len());
        let number = self.symbol(spot.token);
        let symbol = &mut self.symbols[number];
        if symbol.place.is_some() {
            let line = symbol.line;
            return Err(spot.error(format!("a new label: this one is in line {line}")));
        }
        (symbol.place, symbol.line) = (Some(place), line);
        Ok(number)
    }

    /// The number of the section that lines go to: `.text` at the beginning.
    pub fn current(&mut self) -> usize {
        match self.current {
            Some(current) => current,
            None => self.enter(".text"),
        }
    }

    /// Makes a section the current one.
    pub fn enter(&mut self, name: &str) -> usize {
        let number = self.section(name);
        self.current = Some(number);
        number
    }

    /// The number of a section, which is added if it is new.
    pub fn section(&mut self, name: &str) -> usize {
        if let Some(found) = self.sections.iter().position(|section| section.name == name) {
            return found;
        }
        let section = Section {
            name: name.to_owned(),
            align: 1,
            zero: name == ".bss" || name.starts_with(".bss."),
            ..Section::default()
        };
        self.sections.push(section);
        self.sections.len() - 1
    }
}

impl Section<'_> {
    /// Size in bytes so far.
    pub fn len(&self) -> u64 {
        (self.bytes.len() + self.code.slot() * Insn::SIZE) as u64
    }

    /// Whether it contains instructions.
    pub fn is_code(&self) -> bool {
        self.code.slot() > 0
    }

    /// Whether it contains instructions, or was declared to.
    pub fn is_executable(&self) -> bool {
        self.is_code() || self.flags.is_some_and(|flags| flags & EXECINSTR != 0)
    }

    /// Appends bytes.
    pub fn append(&mut self, cursor: &Cursor<'_>, bytes: &[u8]) -> Result<()> {
        self.grow(cursor, bytes.len() as u64, 0)?;
        let start = self.bytes.len() - bytes.len();
        self.bytes[start..].copy_from_slice(bytes);
        if self.zero && bytes.iter().any(|byte| *byte != 0) {
            return Err(cursor.wrong("zero: the file holds no bytes of this section"));
        }
        Ok(())
    }

    /// Appends a byte many times.
    pub fn grow(&mut self, cursor: &Cursor<'_>, count: u64, byte: u8) -> Result<()> {
        if self.is_code() && count > 0 {
            return Err(cursor.wrong("an instruction: this section contains code"));
        }
        let len = (self.bytes.len() as u64).checked_add(count);
        let len = len.filter(|len| *len <= MAX_DATA);
        let len =
            len.ok_or_else(|| cursor.wrong(format!("a section of at most {MAX_DATA} bytes")))?;
        self.bytes.resize(len as usize, byte);
        Ok(())
    }
}

impl Symbol<'_> {
    /// Whether only compilers use the name, for places within functions.
    pub fn is_private(&self) -> bool {
        self.name.starts_with(".L")
    }
}

impl<'a> Point<'a> {
    /// The token, for an error.
    pub fn spot(&self) -> Spot<'a> {
        match self {
            Point::Symbol(spot) | Point::Here(_, _, spot) => *spot,
        }
    }
}

/// `SHF_EXECINSTR`.
pub(super) const EXECINSTR: u64 = 4;
