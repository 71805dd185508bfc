//! `Spec`: a BPF object as plain data, ready for any runtime.
//!
//! Every local call, callback address and data reference is already resolved to slots of the
//! program that holds it; what only a running system can supply is listed as a [`Fixup`].
//! The same file gives the same `Spec` on every machine.
//! Not here: how it is read (`elf`), changed (`global`, `co_re`) or run (the runtimes).

use crate::btf::Btf;
use crate::insn::Insn;

/// An object: programs, maps and types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// What errors call the object: usually its file name.
    pub name: String,
    /// License of the object, such as `GPL`.
    pub license: String,
    /// The programs.
    pub programs: Vec<Program>,
    /// The map definitions.
    pub maps: Vec<MapDef>,
    /// The object's types, if it has any.
    pub btf: Option<Btf>,
    /// Variables of the kernel's configuration that the object reads.
    pub kconfig: Vec<KconfigVar>,
    /// Variables that the symbol table names; those with types are in [`Spec::btf`] too.
    pub variables: Vec<Global>,
}

/// One variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Name of the variable.
    pub name: String,
    /// The data-section map that holds it, such as `.rodata`.
    pub section: String,
    /// Its type in C; empty when the object has no types.
    pub type_text: String,
    /// BTF type of the value, 0 when unknown.
    pub type_id: u32,
    /// Bytes from the start of the section's value.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// One entry program, followed by every function that it reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Name of the entry function.
    pub name: String,
    /// Name of its section.
    pub section: String,
    /// Type, attach type and flags.
    pub kind: ProgramKind,
    /// `false` for `SEC("?…")`: loaded only if named explicitly.
    pub autoload: bool,
    /// The instructions, entry function first.
    pub insns: Vec<Insn>,
    /// Sorted by slot, at most one a slot.
    pub fixups: Vec<Fixup>,
    /// Sorted by slot; the first starts at slot 0 and is the entry.
    pub functions: Vec<Function>,
    /// Sorted by slot; empty without `.BTF.ext`.
    pub lines: Vec<Line>,
    /// What [`Spec::relocate`] could not resolve, sorted by slot. Such a slot holds a call that
    /// the verifier rejects if it can be reached.
    pub unresolved: Vec<Unresolved>,
}

/// A field relocation for which the target has no value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unresolved {
    /// The instruction that was replaced.
    pub slot: usize,
    /// Which type or field, and why.
    pub text: String,
}

/// Kernel program type and expected attach type, as `bpf(PROG_LOAD)` takes them, with load flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProgramKind {
    /// `BPF_PROG_TYPE_*`; 0 if neither section nor caller specifies it.
    pub program_type: u32,
    /// `BPF_*` attach type.
    pub attach_type: u32,
    /// `BPF_F_*` load flags that the section implies, such as `BPF_F_XDP_HAS_FRAGS`.
    pub flags: u32,
}

/// A slot that the runtime must fill in.
///
/// The instruction has its final form (`src` specifies the kind of reference) except for the number
/// itself. A weak symbol that the running system lacks becomes a plain load of 0 (`src` and both
/// immediates 0); a call of one, an instruction that no verifier lets run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixup {
    /// The instruction that contains the reference.
    pub slot: usize,
    /// What the instruction refers to.
    pub target: Target,
}

/// What a slot refers to. Map and program numbers index [`Spec::maps`] and [`Spec::programs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Wide load of a map.
    Map { map: usize },
    /// Wide load of an address inside the one value of a data-section map.
    MapValue { map: usize, offset: u32 },
    /// Wide load of a kernel variable's address; `type_id` is its BTF `VAR`, 0 when untyped.
    Ksym { name: String, type_id: u32, weak: bool },
    /// Call of a kernel function; `type_id` is its BTF `FUNC`.
    Kfunc { name: String, type_id: u32, weak: bool },
    /// Wide load of a kernel function's address.
    KfuncAddress { name: String, type_id: u32, weak: bool },
    /// Field offset, size or existence that depends on the target's types.
    Field(FieldRelocation),
}

/// One record of `.BTF.ext`'s CO-RE section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRelocation {
    /// `enum bpf_core_relo_kind`; see [`FieldKind`](crate::co_re::FieldKind).
    pub kind: u32,
    /// Root type in the object's own BTF.
    pub type_id: u32,
    /// Access path: array index, then member or element numbers.
    pub access: Vec<u32>,
}

/// Where a function starts in its program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// First instruction of the function.
    pub slot: usize,
    /// Name of the function.
    pub name: String,
    /// BTF `FUNC`, 0 without BTF.
    pub type_id: u32,
    /// Verified on its own by the kernel.
    pub global: bool,
}

/// Source position of a slot. `file` and `text` are offsets into the BTF string section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// First instruction of the line.
    pub slot: usize,
    /// Offset of the file name in the strings of the types.
    pub file: u32,
    /// Offset of the source text in the strings of the types.
    pub text: u32,
    /// Line number, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A map before it exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapDef {
    /// Name of the map.
    pub name: String,
    /// Type of the map.
    pub kind: MapKind,
    /// Size of a key in bytes.
    pub key_size: u32,
    /// Size of a value in bytes.
    pub value_size: u32,
    /// Number of elements, or bytes of a ring buffer.
    pub max_entries: u32,
    /// `BPF_F_*` flags.
    pub flags: u32,
    /// `map_extra`: the meaning depends on the type.
    pub extra: u64,
    /// NUMA node for the memory.
    pub numa_node: Option<u32>,
    /// Whether it is pinned and shared by its name.
    pub pin_by_name: bool,
    /// BTF types of key and value, 0 when unknown.
    pub key_type: u32,
    /// Type id of the value; 0 without types.
    pub value_type: u32,
    /// Template of the values of a map of maps.
    pub inner: Option<Box<MapDef>>,
    /// Elements to write after creation.
    pub initial: Vec<Initial>,
    /// The one value of a data-section map (`.rodata`, `.data`, `.bss`, `.kconfig`).
    pub contents: Option<Vec<u8>>,
    /// Frozen after it is filled: programs and user space may only read it.
    pub frozen: bool,
}

/// `BPF_MAP_TYPE_*`. A number, not an enum: objects may use types newer than this crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapKind(pub u32);

/// A slot of a map of maps or of a program array that the object fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initial {
    Map { index: u32, map: usize },
    Program { index: u32, program: usize },
}

/// `extern … __kconfig`: a place in the `.kconfig` map that the runtime fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KconfigVar {
    /// Name of the option, such as `CONFIG_HZ`.
    pub name: String,
    /// Offset in the map of configuration values.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Type id of the variable.
    pub type_id: u32,
    /// Whether the kernel may lack the option.
    pub weak: bool,
}

impl Spec {
    /// Finds a program by its name.
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// Finds a map definition by its name.
    pub fn map(&self, name: &str) -> Option<&MapDef> {
        self.maps.iter().find(|map| map.name == name)
    }

    /// Whether one of these programs calls a function that only a program bound to a device may
    /// call: it asks for what the device knows of a packet (Linux 6.3).
    pub fn asks_device(&self, programs: &[String]) -> bool {
        let programs = programs.iter().filter_map(|name| self.program(name));
        let mut targets = programs.flat_map(|program| &program.fixups).map(|fixup| &fixup.target);
        targets.any(|target| match target {
            Target::Kfunc { name, .. } => name.starts_with("bpf_xdp_metadata_rx_"),
            _ => false,
        })
    }

    /// Finds the number of a map definition by its name.
    pub fn map_index(&self, name: &str) -> Option<usize> {
        self.maps.iter().position(|map| map.name == name)
    }
}

impl MapDef {
    /// Number of entries to create the map with, on a machine with that many possible processors
    /// and bytes in a page. A perf event array without a number has one for each processor; the
    /// bytes of a ring buffer are rounded up to a power of two pages; any other number is
    /// unchanged.
    pub fn entries_on(&self, cpus: u32, page_size: u32) -> u32 {
        match self.kind {
            MapKind::PERF_EVENT_ARRAY if self.max_entries == 0 => cpus,
            MapKind::RINGBUF | MapKind::USER_RINGBUF => {
                let pages = self.max_entries.max(page_size).checked_next_power_of_two();
                pages.unwrap_or(self.max_entries)
            }
            _ => self.max_entries,
        }
    }
}

impl Program {
    /// The last source line that starts at or before `slot`, within the same function.
    pub fn line_at(&self, slot: usize) -> Option<&Line> {
        let function = self.function_at(slot).map_or(0, |function| function.slot);
        let after = self.lines.partition_point(|line| line.slot <= slot);
        let line = &self.lines[..after].last()?;
        (line.slot >= function).then_some(line)
    }

    /// The function that holds `slot`.
    pub fn function_at(&self, slot: usize) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.slot <= slot);
        self.functions[..after].last()
    }

    /// Finds what an instruction refers to.
    pub fn fixup_at(&self, slot: usize) -> Option<&Target> {
        let found = self.fixups.binary_search_by_key(&slot, |fixup| fixup.slot).ok()?;
        Some(&self.fixups[found].target)
    }
}
