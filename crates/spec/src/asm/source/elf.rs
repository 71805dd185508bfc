//! Writes the ELF file: sections, their relocations, the symbol table.
//!
//! Local symbols come first, as the format requires; among them those of sections that relocations
//! refer to. Not here: what the references are (`layout`).

use object::elf;
use object::endian::Endianness;
use object::write::StringId;
use object::write::elf::{FileHeader, Rel, SectionHeader, SectionIndex, Sym, Writer};

use super::Error;
use super::unit::{Binding, EXECINSTR, Kind, Referent, Section, Unit};
use crate::insn::Insn;
use crate::model::ProgramKind;

/// The file's bytes.
pub(super) fn write(unit: &Unit<'_>) -> Result<Vec<u8>, Error> {
    let failed = |error: object::write::Error| Error::File(error.to_string());
    let symbols = Symbols::new(unit);
    let contents: Vec<Vec<u8>> = unit.sections.iter().map(contents).collect();
    let names = unit.sections.iter().map(|section| format!(".rel{}", section.name));
    let names: Vec<String> = names.collect();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
    let layout = Layout::reserve(&mut writer, unit, &symbols, &contents, &names);
    let layout = layout.map_err(failed)?;
    emit(&mut writer, unit, &symbols, &contents, &layout).map_err(failed)?;
    Ok(bytes)
}

/// The symbol table: numbers of the unit's sections and symbols.
struct Symbols {
    /// Sections whose start a relocation refers to.
    sections: Vec<usize>,
    /// Symbols, the local ones first.
    named: Vec<usize>,
    /// How many of the named ones are local.
    local: usize,
    /// By number of the section and of the symbol: their place in the table.
    by_section: Vec<u32>,
    by_symbol: Vec<u32>,
}

impl Symbols {
    fn new(unit: &Unit<'_>) -> Self {
        let mut by_section = vec![0; unit.sections.len()];
        let mut is_referent = vec![false; unit.symbols.len()];
        let relocations = unit.sections.iter().flat_map(|section| &section.relocations);
        for relocation in relocations {
            match relocation.referent {
                Referent::Section(section) => by_section[section] = 1,
                Referent::Symbol(symbol) => is_referent[symbol] = true,
            }
        }
        let sections: Vec<usize> =
            (0..by_section.len()).filter(|section| by_section[*section] != 0).collect();
        // Loaders look for each symbol that is not defined here.
        let is_needed = |number: &usize| {
            let symbol = &unit.symbols[*number];
            let is_defined = symbol.place.is_some() && !symbol.is_private();
            symbol.needed && (is_defined || symbol.place.is_none() && is_referent[*number])
        };
        let needed = (0..unit.symbols.len()).filter(is_needed);
        let is_local = |symbol: &usize| unit.symbols[*symbol].binding == Binding::Local;
        let (mut named, global): (Vec<usize>, Vec<usize>) = needed.partition(is_local);
        let local = named.len();
        named.extend(global);
        let mut by_symbol = vec![0; unit.symbols.len()];
        for (section, index) in sections.iter().zip(1..) {
            by_section[*section] = index;
        }
        for (symbol, index) in named.iter().zip(1 + sections.len() as u32..) {
            by_symbol[*symbol] = index;
        }
        Self { sections, named, local, by_section, by_symbol }
    }

    fn index(&self, referent: Referent) -> u32 {
        match referent {
            Referent::Symbol(symbol) => self.by_symbol[symbol],
            Referent::Section(section) => self.by_section[section],
        }
    }
}

/// Where the parts of the file are.
struct Layout {
    sections: Vec<SectionPlace>,
    symbol_names: Vec<StringId>,
}

struct SectionPlace {
    name: StringId,
    index: SectionIndex,
    offset: u64,
    /// Name and offset of its relocations.
    relocations: Option<(StringId, u64)>,
}

impl Layout {
    fn reserve<'a>(
        writer: &mut Writer<'a>,
        unit: &'a Unit<'_>,
        symbols: &Symbols,
        contents: &[Vec<u8>],
        names: &'a [String],
    ) -> object::write::Result<Self> {
        writer.reserve_file_header();
        writer.reserve_null_section_index();
        let mut sections = Vec::new();
        for ((section, bytes), relocations) in unit.sections.iter().zip(contents).zip(names) {
            let name = writer.add_section_name(section.name.as_bytes());
            let index = writer.reserve_section_index();
            let offset = writer.reserve(bytes.len() as u64, align(section));
            let relocations = (!section.relocations.is_empty()).then(|| {
                let name = writer.add_section_name(relocations.as_bytes());
                writer.reserve_section_index();
                (name, writer.reserve_relocations(section.relocations.len(), false))
            });
            sections.push(SectionPlace { name, index, offset, relocations });
        }
        writer.reserve_null_symbol_index();
        for section in &symbols.sections {
            writer.reserve_symbol_index(Some(sections[*section].index));
        }
        let mut symbol_names = Vec::new();
        for symbol in &symbols.named {
            let symbol = &unit.symbols[*symbol];
            symbol_names.push(writer.add_string(symbol.name.as_bytes()));
            writer.reserve_symbol_index(symbol.place.map(|(section, _)| sections[section].index));
        }
        writer.reserve_symtab_section_index();
        writer.reserve_symtab();
        writer.reserve_strtab_section_index();
        writer.reserve_strtab()?;
        writer.reserve_shstrtab_section_index();
        writer.reserve_shstrtab()?;
        writer.reserve_section_headers();
        Ok(Self { sections, symbol_names })
    }
}

fn emit(
    writer: &mut Writer<'_>,
    unit: &Unit<'_>,
    symbols: &Symbols,
    contents: &[Vec<u8>],
    layout: &Layout,
) -> object::write::Result<()> {
    writer.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_REL,
        e_machine: elf::EM_BPF,
        e_entry: 0,
        e_flags: elf::FileFlags(0),
    })?;
    for ((section, bytes), place) in unit.sections.iter().zip(contents).zip(&layout.sections) {
        writer.pad_until(place.offset);
        writer.write(bytes);
        if let Some((_, offset)) = place.relocations {
            writer.pad_until(offset);
        }
        for relocation in &section.relocations {
            writer.write_relocation(
                false,
                &Rel {
                    r_offset: relocation.offset,
                    r_sym: symbols.index(relocation.referent),
                    r_type: elf::RelocationType(relocation.kind),
                    r_addend: 0,
                },
            );
        }
    }
    write_symbols(writer, unit, symbols, layout);
    writer.write_strtab();
    writer.write_shstrtab();
    write_headers(writer, unit, symbols, contents, layout);
    Ok(())
}

fn write_symbols(writer: &mut Writer<'_>, unit: &Unit<'_>, symbols: &Symbols, layout: &Layout) {
    writer.write_null_symbol();
    for section in &symbols.sections {
        writer.write_symbol(&Sym {
            section: Some(layout.sections[*section].index.0),
            st_name: 0,
            st_info: elf::STB_LOCAL | elf::STT_SECTION,
            st_other: elf::SymbolOther(0),
            st_shndx: elf::SHN_UNDEF,
            st_value: 0,
            st_size: 0,
        });
    }
    for (symbol, name) in symbols.named.iter().zip(&layout.symbol_names) {
        let symbol = &unit.symbols[*symbol];
        let bind = match symbol.binding {
            Binding::Local => elf::STB_LOCAL,
            Binding::Global => elf::STB_GLOBAL,
            Binding::Weak => elf::STB_WEAK,
        };
        let kind = match symbol.kind {
            Some(Kind::Function) => elf::STT_FUNC,
            Some(Kind::Object) => elf::STT_OBJECT,
            None => elf::STT_NOTYPE,
        };
        writer.write_symbol(&Sym {
            section: symbol.place.map(|(section, _)| layout.sections[section].index.0),
            st_name: writer.string_offset(Some(*name)),
            st_info: bind | kind,
            st_other: elf::SymbolOther(if symbol.hidden { elf::STV_HIDDEN.0 } else { 0 }),
            st_shndx: elf::SHN_UNDEF,
            st_value: symbol.place.map_or(0, |(_, offset)| offset),
            st_size: symbol.bytes,
        });
    }
}

fn write_headers(
    writer: &mut Writer<'_>,
    unit: &Unit<'_>,
    symbols: &Symbols,
    contents: &[Vec<u8>],
    layout: &Layout,
) {
    let symtab = writer.symtab_index();
    writer.write_null_section_header();
    for ((section, bytes), place) in unit.sections.iter().zip(contents).zip(&layout.sections) {
        let size = if section.zero { section.len() } else { bytes.len() as u64 };
        writer.write_section_header(&SectionHeader {
            sh_name: writer.section_name_offset(Some(place.name)),
            sh_type: if section.zero { elf::SHT_NOBITS } else { elf::SHT_PROGBITS },
            sh_flags: elf::SectionFlags(section.flags.unwrap_or_else(|| flags(section))),
            sh_addr: 0,
            sh_offset: place.offset,
            sh_size: size,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: align(section),
            sh_entsize: section.element,
        });
        if let Some((name, offset)) = place.relocations {
            let count = section.relocations.len();
            writer.write_relocation_section_header(name, place.index, symtab, offset, count, false);
        }
    }
    writer.write_symtab_section_header((1 + symbols.sections.len() + symbols.local) as u32);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
}

/// The bytes in the file.
fn contents(section: &Section<'_>) -> Vec<u8> {
    let code = section.code.code.insns.iter().flat_map(|insn| insn.to_bytes());
    let data = section.bytes.iter().copied().filter(|_| !section.zero);
    code.chain(data).collect()
}

fn align(section: &Section<'_>) -> u64 {
    if section.is_code() { Insn::SIZE as u64 } else { section.align.max(1) }
}

/// Flags of a section for which the source gives none.
fn flags(section: &Section<'_>) -> u64 {
    let named = |base: &str| section.name.starts_with(base);
    if section.is_code() || named(".text") || ProgramKind::from_name(&section.name).is_some() {
        ALLOC | EXECINSTR
    } else if named(".rodata") {
        ALLOC
    } else if named(".BTF") {
        0
    } else {
        ALLOC | WRITE
    }
}

const WRITE: u64 = 1;
const ALLOC: u64 = 2;
