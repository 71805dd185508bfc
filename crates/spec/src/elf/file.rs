//! Sections, symbols and relocations of an ELF file as plain values.
//!
//! Rule: after [`File::parse`] every section's bytes lie inside the file and every index held
//! here is valid. Not here: what any of it means to BPF.

use std::collections::HashMap;

use object::LittleEndian;
use object::elf::{FileHeader64, Rel64, SHT_NOBITS, SHT_REL, SHT_RELA, SHT_SYMTAB, Sym64};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym, SymbolTable};

use crate::error::{Error, Place};

pub(super) struct File<'a> {
    /// Name of the file, for errors.
    pub name: &'a str,
    /// Section 0 is the empty one that ELF wants; numbers are those of the file.
    pub sections: Vec<Section<'a>>,
    /// The symbol table.
    pub symbols: Vec<Symbol>,
    /// Numbers of symbols by section.
    by_section: Vec<Vec<usize>>,
    /// Sections by name; the first of several.
    by_name: HashMap<String, usize>,
}

pub(super) struct Section<'a> {
    /// Name of the section.
    pub name: String,
    /// Whether it contains code.
    pub executable: bool,
    /// Part of the program in memory, as opposed to debug data and tables.
    pub allocated: bool,
    /// Bytes in memory; more than `data` holds for `.bss`.
    pub size: u64,
    /// Empty when all zero.
    pub data: &'a [u8],
    /// Whether it has no bytes in the file (`.bss`).
    pub zero: bool,
    /// In the order of their offsets.
    pub relocs: Vec<Reloc>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Reloc {
    /// Bytes from the start of the section that is patched.
    pub offset: u64,
    /// Number of the symbol that the relocation refers to.
    pub symbol: usize,
}

pub(super) struct Symbol {
    /// Name of the symbol.
    pub name: String,
    /// `None` when undefined, absolute or common.
    pub section: Option<usize>,
    /// Whether the symbol is defined elsewhere.
    pub undefined: bool,
    /// Offset in its section.
    pub value: u64,
    /// Size in bytes.
    pub size: u64,
    /// Whether its binding is local.
    pub local: bool,
    /// Whether its binding is weak.
    pub weak: bool,
    /// Seen by the linker of this object only, whatever its binding.
    pub hidden: bool,
    /// Kind of the symbol.
    pub kind: SymbolKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SymbolKind {
    Function,
    Object,
    Section,
    Other,
}

type Header = FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

const EM_BPF: u16 = 247;
const SHN_UNDEF: u16 = 0;
const SHN_RESERVED: u16 = 0xff00;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;

impl<'a> File<'a> {
    /// Parses the sections and symbols of an ELF file.
    pub fn parse(name: &'a str, bytes: &'a [u8]) -> Result<Self, Error> {
        identify(name, bytes)?;
        let damaged = |error: object::Error| Error::malformed(Place::new(name), error.to_string());
        let header = Header::parse(bytes).map_err(damaged)?;
        let table = header.sections(LE, bytes).map_err(damaged)?;
        let symbols = table.symbols(LE, bytes, SHT_SYMTAB).map_err(damaged)?;
        let mut file = Self {
            name,
            sections: Vec::new(),
            symbols: Vec::new(),
            by_section: Vec::new(),
            by_name: HashMap::new(),
        };
        let mut budget = SizeBudget::of(bytes.len());
        for section in table.iter() {
            let section = file.section(&table, section, bytes)?;
            budget.take(name, section.data.len(), section.name.len())?;
            file.by_name.entry(section.name.clone()).or_insert(file.sections.len());
            file.sections.push(section);
        }
        file.by_section.resize_with(file.sections.len(), Vec::new);
        for symbol in symbols.iter() {
            let symbol = file.symbol(&symbols, symbol);
            budget.take(name, 0, symbol.name.len())?;
            if let Some(section) = symbol.section {
                file.by_section[section].push(file.symbols.len());
            }
            file.symbols.push(symbol);
        }
        file.attach_relocations(&table, bytes)?;
        Ok(file)
    }

    fn section(
        &self,
        table: &SectionTable<'a, Header>,
        header: &'a <Header as FileHeader>::SectionHeader,
        bytes: &'a [u8],
    ) -> Result<Section<'a>, Error> {
        let name = table.section_name(LE, header).unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        let outside = |_| {
            let at = Place::new(self.name).section(&name).offset(header.sh_offset(LE));
            let size = header.sh_size(LE);
            Error::malformed(at, format!("{size} bytes here end after the end of the file"))
        };
        let data = header.data(LE, bytes).map_err(outside)?;
        let flags = header.sh_flags.get(LE).0;
        Ok(Section {
            executable: flags & SHF_EXECINSTR != 0,
            allocated: flags & SHF_ALLOC != 0,
            size: header.sh_size(LE),
            zero: header.sh_type(LE) == SHT_NOBITS,
            name,
            data,
            relocs: Vec::new(),
        })
    }

    fn symbol(&self, table: &SymbolTable<'a, Header>, symbol: &Sym64<LittleEndian>) -> Symbol {
        let index = symbol.st_shndx.get(LE).0;
        let section = (index != SHN_UNDEF && index < SHN_RESERVED).then_some(usize::from(index));
        let section = section.filter(|section| *section < self.sections.len());
        let info = symbol.st_info.0;
        let kind = match info & 0x0f {
            1 => SymbolKind::Object,
            2 => SymbolKind::Function,
            3 => SymbolKind::Section,
            _ => SymbolKind::Other,
        };
        let name = table.symbol_name(LE, symbol).unwrap_or_default();
        let mut name = String::from_utf8_lossy(name).into_owned();
        // Symbols of sections have no name; errors are to name something.
        if let (SymbolKind::Section, Some(section), true) = (kind, section, name.is_empty()) {
            name.clone_from(&self.sections[section].name);
        }
        Symbol {
            name,
            section,
            undefined: index == SHN_UNDEF,
            value: symbol.st_value(LE),
            size: symbol.st_size(LE),
            local: info >> 4 == 0,
            weak: info >> 4 == 2,
            hidden: matches!(symbol.st_other.0 & 3, 1 | 2),
            kind,
        }
    }

    fn attach_relocations(
        &mut self,
        table: &SectionTable<'a, Header>,
        bytes: &'a [u8],
    ) -> Result<(), Error> {
        for (number, header) in table.iter().enumerate() {
            let target = header.sh_info(LE) as usize;
            let at = Place::new(self.name).section(&self.sections[number].name);
            let Some(section) = self.sections.get(target) else { continue };
            match header.sh_type(LE) {
                SHT_RELA if section.executable => {
                    return Err(Error::unsupported(
                        at,
                        "relocations with addends, which no BPF compiler writes",
                    ));
                }
                SHT_REL => {}
                _ => continue,
            }
            let found = header.rel(LE, bytes);
            let found = found.map_err(|error| Error::malformed(at, error.to_string()))?;
            let (relocs, _) = found.unwrap_or((&[], object::SectionIndex(0)));
            self.attach(target, relocs)?;
        }
        for section in &mut self.sections {
            section.relocs.sort_by_key(|reloc| reloc.offset);
        }
        Ok(())
    }

    fn attach(&mut self, target: usize, relocs: &[Rel64<LittleEndian>]) -> Result<(), Error> {
        let section = &mut self.sections[target];
        for reloc in relocs {
            let info = reloc.r_info.get(LE);
            let (offset, symbol) = (reloc.r_offset.get(LE), (info >> 32) as usize);
            if symbol >= self.symbols.len() {
                let at = Place::new(self.name).section(&section.name).offset(offset);
                return Err(Error::malformed(at, format!("relocation of symbol {symbol}")));
            }
            section.relocs.push(Reloc { offset, symbol });
        }
        Ok(())
    }

    /// The first section so named.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Symbols of a section, in the order of the file.
    pub fn symbols_of(&self, section: usize) -> impl Iterator<Item = &Symbol> {
        self.by_section[section].iter().map(|number| &self.symbols[*number])
    }

    /// Where an error in a section lies.
    pub fn at(&self, section: usize, offset: u64) -> Place {
        Place::new(self.name).section(&self.sections[section].name).offset(offset)
    }
}

/// Bytes that sections and names may still have. Sections of a right file do not overlap, and names
/// share little more than their ends; else a small file would take any amount of memory.
struct SizeBudget {
    data: usize,
    names: usize,
}

impl SizeBudget {
    const fn of(file: usize) -> Self {
        Self { data: file, names: NAMES * file }
    }

    fn take(&mut self, file: &str, data: usize, name: usize) -> Result<(), Error> {
        let left = (self.data.checked_sub(data), self.names.checked_sub(name));
        let (Some(data), Some(names)) = left else {
            let what = "its sections or names overlap: they are longer than the file";
            return Err(Error::malformed(Place::new(file), what));
        };
        *self = Self { data, names };
        Ok(())
    }
}

/// How often an average byte of the file may be part of a name.
const NAMES: usize = 16;

/// Rejects a file that is not a little-endian 64-bit BPF object by its first bytes, and names its
/// type.
fn identify(name: &str, bytes: &[u8]) -> Result<(), Error> {
    let file = name.to_owned();
    if !bytes.starts_with(b"\x7fELF") {
        return Err(Error::NotElf { file, found: first_bytes(bytes) });
    }
    if bytes.len() < 20 {
        return Err(Error::malformed(
            Place::new(name).offset(bytes.len() as u64),
            "ends inside the ELF header",
        ));
    }
    let not_relocatable =
        |found: &str| Error::NotRelocatable { file: file.clone(), found: found.to_owned() };
    let (class, order) = (bytes[4], bytes[5]);
    if order == 2 {
        return Err(Error::WrongEndian { file });
    }
    let machine = u16::from_le_bytes([bytes[18], bytes[19]]);
    // The first compilers for BPF wrote no machine at all.
    if machine != EM_BPF && machine != 0 {
        return Err(Error::WrongMachine { file, machine });
    }
    if class != 2 {
        return Err(not_relocatable("a 32-bit ELF file"));
    }
    match u16::from_le_bytes([bytes[16], bytes[17]]) {
        1 => Ok(()),
        2 | 3 => Err(not_relocatable("a linked program or library")),
        4 => Err(not_relocatable("a core dump")),
        other => Err(not_relocatable(&format!("an ELF file of type {other}"))),
    }
}

fn first_bytes(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(8)];
    if start.is_empty() {
        return "nothing, it is empty".to_owned();
    }
    let text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let shown = start.iter().take_while(|byte| text(byte)).count();
    if shown >= 4 || shown == start.len() {
        return format!("`{}`", String::from_utf8_lossy(&start[..shown]));
    }
    let hex: Vec<_> = start.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("the bytes {}", hex.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/drop.o");

    /// Offset of the header of a section.
    fn header(object: &[u8], section: usize) -> usize {
        let table = u64::from_le_bytes(object[0x28..0x30].try_into().unwrap());
        table as usize + 64 * section
    }

    #[test]
    fn sections_that_overlap_are_refused() {
        assert!(File::parse("drop", OBJECT).is_ok());
        let mut object = OBJECT.to_vec();
        let whole = object.len() as u64;
        let code = File::parse("drop", OBJECT).unwrap();
        let code = code.sections.iter().position(|section| section.executable).unwrap();
        let at = header(&object, code);
        object[at + 24..at + 32].copy_from_slice(&0_u64.to_le_bytes());
        object[at + 32..at + 40].copy_from_slice(&whole.to_le_bytes());
        let error = File::parse("drop", &object).err().unwrap().to_string();
        assert!(error.contains("overlap"), "{error}");
    }

    #[test]
    fn symbols_and_sections_are_found() {
        let file = File::parse("drop", OBJECT).unwrap();
        for (number, section) in file.sections.iter().enumerate() {
            let named = file.sections.iter().position(|one| one.name == section.name);
            assert_eq!(file.find(&section.name), named);
            let inside = file.symbols.iter().filter(|symbol| symbol.section == Some(number));
            let inside: Vec<_> = inside.map(|symbol| &symbol.name).collect();
            let found: Vec<_> = file.symbols_of(number).map(|symbol| &symbol.name).collect();
            assert_eq!(found, inside);
        }
    }
}
