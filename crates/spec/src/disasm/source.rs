//! An object as assembly source, which [`asm::source`](crate::asm::source) assembles.
//!
//! Rule: assembled again, it has the same programs, maps and variables. What the notation of an
//! instruction cannot express is written as a number. Not kept: types, and what needs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use thiserror::Error;

use super::listing::{self, Listing};
use super::{Names, SpecNames, insn, slots};
use crate::asm::text;
use crate::btf::{Kind, Linkage};
use crate::insn::{Insn, LD_IMM64, PSEUDO_CALL};
use crate::model::{Global, Initial, MapDef, Program, Spec, Target};

/// Why an object cannot be written as source.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unprintable {
    /// The program needs types of the running kernel.
    #[error("program `{program}` refers to {what}, which assembly source cannot describe")]
    Reference { program: String, what: String },
    /// The object reads variables of the kernel's configuration.
    #[error("the object reads the kernel's configuration, which assembly source cannot describe")]
    Kconfig,
    /// The kernel finds an object of its own in a map's values by its type.
    #[error("map `{map}` contains `{object}`, which assembly source cannot describe")]
    KernelObject { map: String, object: String },
    /// Two functions have a name in common.
    #[error("the object has two functions `{0}`: assembly source needs different names")]
    Name(String),
}

/// The source of an object.
///
/// # Errors
/// The object needs types: CO-RE, kernel functions and variables, kernel configuration.
pub fn source(spec: &Spec) -> Result<String, Unprintable> {
    if !spec.kconfig.is_empty() {
        return Err(Unprintable::Kconfig);
    }
    let mut text = format!("    .license {}\n", quoted(spec.license.as_bytes()));
    for map in &spec.maps {
        if let Some(object) = kernel_object(spec, map) {
            return Err(Unprintable::KernelObject { map: map.name.clone(), object });
        }
    }
    for map in spec.maps.iter().filter(|map| map.contents.is_none()) {
        let _ = write!(text, "\n    .map {} {}", map.name, definition(map));
        values(spec, map, &mut text);
    }
    text.push('\n');
    for map in &spec.maps {
        if let Some(contents) = &map.contents {
            data(spec, map, contents, &mut text);
        }
    }
    let mut functions = Functions::default();
    for program in &spec.programs {
        functions.add(spec, program)?;
    }
    for (section, bodies) in &functions.sections {
        let _ = writeln!(text, "\n    .section {},\"ax\",@progbits", quoted(section.as_bytes()));
        text.extend(bodies.iter().map(String::as_str));
    }
    Ok(text)
}

/// A lock, timer, list or pointer of the kernel in a map's values, or in its variables.
fn kernel_object(spec: &Spec, map: &MapDef) -> Option<String> {
    let btf = spec.btf.as_ref()?;
    let mut types = vec![map.value_type];
    let mut seen = BTreeSet::new();
    while let Some(id) = types.pop() {
        let Some(ty) = btf.resolve(id).filter(|ty| seen.insert(ty.id())) else { continue };
        if OBJECTS.contains(&ty.name()) {
            return Some(format!("struct {}", ty.name()));
        }
        let tag = btf.ty(ty.target()).filter(|tag| tag.kind() == Kind::TypeTag);
        if let Some(tag) = tag.filter(|_| ty.kind() == Kind::Ptr) {
            return Some(format!("a pointer with the tag {}", tag.name()));
        }
        types.extend(ty.members().map(|member| member.type_id));
        types.extend(ty.array().map(|array| array.element));
        types.extend(ty.vars().map(|var| var.type_id));
    }
    None
}

/// `hash key=4 value=8 entries=16`
fn definition(map: &MapDef) -> String {
    let kind = map.kind.name().map_or_else(|| map.kind.0.to_string(), str::to_owned);
    let mut text = kind;
    let numbers = [
        ("key", map.key_size.into()),
        ("value", map.value_size.into()),
        ("entries", map.max_entries.into()),
        ("flags", map.flags.into()),
        ("extra", map.extra),
    ];
    for (name, number) in numbers.into_iter().filter(|(_, number)| *number != 0) {
        let _ = write!(text, " {name}={number}");
    }
    if let Some(node) = map.numa_node {
        let _ = write!(text, " numa={node}");
    }
    if map.pin_by_name {
        text.push_str(" pin");
    }
    if let Some(inner) = &map.inner {
        let _ = write!(text, " inner=({})", definition(inner));
    }
    text
}

/// The line with what a map contains at the beginning.
fn values(spec: &Spec, map: &MapDef, text: &mut String) {
    if map.initial.is_empty() {
        return;
    }
    let _ = write!(text, "\n    .values {}", map.name);
    for initial in &map.initial {
        let (index, name) = match initial {
            Initial::Map { index, map } => (index, &spec.maps[*map].name),
            Initial::Program { index, program } => (index, &spec.programs[*program].name),
        };
        let _ = write!(text, " {index}={name}");
    }
}

/// A section with its variables.
fn data(spec: &Spec, map: &MapDef, contents: &[u8], text: &mut String) {
    let (flags, kind) = match map.name.as_str() {
        name if name.starts_with(".rodata") => ("a", "@progbits"),
        name if name.starts_with(".bss") => ("aw", "@nobits"),
        _ => ("aw", "@progbits"),
    };
    let _ = writeln!(text, "\n    .section {},\"{flags}\",{kind}", quoted(map.name.as_bytes()));
    let mut variables: BTreeMap<usize, Vec<&Global>> = BTreeMap::new();
    for variable in spec.variables.iter().filter(|variable| variable.section == map.name) {
        variables.entry(variable.offset as usize).or_default().push(variable);
    }
    let mut at = 0;
    for (offset, named) in &variables {
        bytes(contents, at..*offset, text);
        at = *offset;
        for variable in named {
            if is_global(spec, &map.name, &variable.name) {
                let _ = writeln!(text, "    .globl {}", variable.name);
            }
            let _ = writeln!(text, "    .size {}, {}", variable.name, variable.size);
            let _ = writeln!(text, "{}:", variable.name);
        }
    }
    bytes(contents, at..contents.len(), text);
}

fn is_global(spec: &Spec, section: &str, name: &str) -> bool {
    let vars = spec.btf.as_ref().and_then(|btf| btf.datasec(section)).unwrap_or_default();
    let found = vars.iter().find(|(var, _)| var.name() == name);
    found.is_none_or(|(var, _)| var.linkage() != Linkage::Static as u32)
}

fn bytes(contents: &[u8], range: std::ops::Range<usize>, text: &mut String) {
    let mut rest = contents.get(range).unwrap_or_default();
    while !rest.is_empty() {
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        let len = if zeros > NUMBER {
            let _ = writeln!(text, "    .zero {zeros}");
            zeros
        } else if let Some(word) = rest.first_chunk::<4>() {
            let _ = writeln!(text, "    .long {:#x}", u32::from_le_bytes(*word));
            4
        } else {
            let _ = writeln!(text, "    .byte {:#x}", rest[0]);
            1
        };
        rest = &rest[len..];
    }
}

/// Functions by section, each of them once.
#[derive(Default)]
struct Functions {
    /// Text of functions by section, in the order of programs.
    sections: Vec<(String, Vec<String>)>,
    /// Text by name, with labels numbered in each function.
    known: BTreeMap<String, String>,
}

impl Functions {
    fn add(&mut self, spec: &Spec, program: &Program) -> Result<(), Unprintable> {
        for fixup in &program.fixups {
            let what = match &fixup.target {
                Target::Map { .. } | Target::MapValue { .. } => continue,
                Target::Ksym { name, .. } => format!("the kernel's variable `{name}`"),
                Target::Kfunc { name, .. } | Target::KfuncAddress { name, .. } => {
                    format!("the kernel's function `{name}`")
                }
                Target::Field(_) => "fields of the kernel's structures (CO-RE)".to_owned(),
            };
            return Err(Unprintable::Reference { program: program.name.clone(), what });
        }
        let ends = program.functions.iter().skip(1).map(|function| function.slot);
        let ends = ends.chain([program.insns.len()]);
        let targets = listing::targets(&program.insns);
        for (number, (function, end)) in program.functions.iter().zip(ends).enumerate() {
            let section = if number == 0 { program.section.as_str() } else { ".text" };
            let body = Body { spec, program, slots: function.slot..end, targets: &targets };
            let plain = body.text(".L");
            match self.known.get(&function.name) {
                Some(known) if *known == plain && number > 0 => continue,
                Some(_) => return Err(Unprintable::Name(function.name.clone())),
                None => {}
            }
            let binding = if number == 0 { "globl" } else { "local" };
            let body = body.text(&format!(".L{}_", self.known.len()));
            let text = format!("    .{binding} {0}\n{0}:\n{body}", function.name);
            self.known.insert(function.name.clone(), plain);
            match self.sections.iter_mut().find(|(name, _)| name == section) {
                Some((_, bodies)) => bodies.push(text),
                None => self.sections.push((section.to_owned(), vec![text])),
            }
        }
        Ok(())
    }
}

/// The instructions of one function.
struct Body<'a> {
    spec: &'a Spec,
    program: &'a Program,
    slots: std::ops::Range<usize>,
    /// Slots of the program that jumps go to.
    targets: &'a BTreeMap<usize, usize>,
}

impl Body<'_> {
    /// Lines of text. Labels begin with `prefix`.
    fn text(&self, prefix: &str) -> String {
        let program = self.program;
        let names = SpecNames { spec: self.spec, program };
        let labels = self.targets.range(self.slots.clone()).zip(1..);
        let labels: BTreeMap<usize, String> =
            labels.map(|((slot, _), number)| (*slot, format!("{prefix}{number}"))).collect();
        let listing = Listing::new(program, &names).source(self.spec.btf.as_ref());
        let names = Labelled { names: &names, labels: &labels };
        let (mut text, mut shown) = (String::new(), None);
        let inside = program.insns.get(self.slots.clone()).unwrap_or_default();
        for slot in slots(inside).map(|slot| self.slots.start + slot) {
            if let Some(label) = labels.get(&slot) {
                let _ = writeln!(text, "{label}:");
            }
            if let Some(line) = listing.line(slot, &mut shown) {
                let _ = writeln!(text, "    {line}");
            }
            for line in statement(&program.insns, slot, &names) {
                let _ = writeln!(text, "    {line}");
            }
        }
        text
    }
}

/// Lines for an instruction: its text if it reads back as the same, else numbers.
fn statement(insns: &[Insn], slot: usize, names: &Labelled<'_>) -> Vec<String> {
    let one = insns[slot];
    let callee = names.names.call(slot, one);
    if let Some(name) = callee.filter(|_| one.is_call() && one.src == PSEUDO_CALL) {
        return vec![format!("call {name}")];
    }
    if let Some(symbol) = names.symbol(slot) {
        return vec![format!("r{} = {symbol} ll", one.dst)];
    }
    let text = insn(insns, slot, names);
    let mut text = text.split_once(") ").map_or("", |(_, text)| text).to_owned();
    if one.code == LD_IMM64 && names.names.wide(slot, one, 0).is_none() {
        text.push_str(" ll");
    }
    let len = if one.is_wide() { 2 } else { 1 };
    let original = insns.get(slot..slot + len).unwrap_or(&insns[slot..=slot]);
    // Labels are unknown here: only what has none is compared.
    let refers = names.names.wide(slot, one, 0).is_some() || names.jumps(insns, slot);
    let same = refers || text::parse(&text).is_ok_and(|insns| insns == original);
    if same {
        return vec![text];
    }
    let number = |insn: &Insn| format!(".quad {:#x}", u64::from_le_bytes(insn.to_bytes()));
    original.iter().map(number).collect()
}

/// Names of an object, and labels.
struct Labelled<'a> {
    names: &'a SpecNames<'a>,
    labels: &'a BTreeMap<usize, String>,
}

impl Labelled<'_> {
    /// The map or variable that a wide load refers to, in LLVM's notation.
    fn symbol(&self, slot: usize) -> Option<String> {
        let spec = self.names.spec;
        match self.names.program.fixup_at(slot)? {
            Target::Map { map } => Some(spec.maps.get(*map)?.name.clone()),
            Target::MapValue { map, offset } => {
                let section = &spec.maps.get(*map)?.name;
                let variable = spec.variables.iter().find(|variable| {
                    let inside = offset.checked_sub(variable.offset);
                    variable.section == *section && inside.is_some_and(|at| at < variable.size)
                })?;
                let inside = offset - variable.offset;
                let name = &variable.name;
                Some(if inside == 0 { name.clone() } else { format!("{name}+{inside}") })
            }
            _ => None,
        }
    }

    /// Whether the instruction jumps to a label.
    fn jumps(&self, insns: &[Insn], slot: usize) -> bool {
        let target = listing::distance(insns[slot]).map(|distance| slot as i64 + 1 + distance);
        let target = target.and_then(|target| usize::try_from(target).ok());
        target.is_some_and(|target| self.labels.contains_key(&target))
    }
}

impl Names for Labelled<'_> {
    fn wide(&self, slot: usize, insn: Insn, value: u64) -> Option<String> {
        self.names.wide(slot, insn, value)
    }

    fn call(&self, slot: usize, insn: Insn) -> Option<String> {
        self.names.call(slot, insn)
    }

    fn label(&self, slot: usize) -> Option<String> {
        self.labels.get(&slot).cloned()
    }
}

/// Text in quotes, as `.ascii` takes it.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text.push('"');
    text
}

/// Zero bytes that are written as numbers.
const NUMBER: usize = 16;
/// Structures that the kernel looks for in values of maps: `btf_field_type()` in
/// `kernel/bpf/btf.c`.
const OBJECTS: &[&str] = &[
    "bpf_spin_lock",
    "bpf_res_spin_lock",
    "bpf_timer",
    "bpf_wq",
    "bpf_task_work",
    "bpf_list_head",
    "bpf_list_node",
    "bpf_rb_root",
    "bpf_rb_node",
    "bpf_refcount",
];
