//! Map definitions of the old style: `struct bpf_map_def SEC("maps")`, as plain numbers.
//!
//! Their length identifies the dialect: 16 or 20 bytes (type, key, value, entries, flags), 28 (the
//! kernel's samples: inner map number, NUMA node), 36 (iproute2's `struct bpf_elf_map`: id,
//! pinning, inner id, slot). With iproute2 a map of maps names the id of its inner map, and the
//! inner map names the slot that it takes in each such map, -1 for none.
//! Rule: a field that no dialect explains must be zero.

use std::collections::HashMap;

use super::file::{File, Symbol, SymbolKind};
use super::maps::Maps;
use crate::btf::{Btf, Kind};
use crate::error::{Error, Place};
use crate::model::{Initial, MapDef, MapKind};

const SAMPLES_LEN: usize = 28;
const IPROUTE_LEN: usize = 36;
const NO_SLOT: u32 = u32::MAX;
/// Slots that the definitions of a section fill, at most: each map of maps names all maps of an
/// id, so their number could be the square of the object's size.
const MAX_PLACED: usize = 1 << 16;
/// `BPF_F_NUMA_NODE`.
const NUMA_NODE: u32 = 1 << 2;

pub(super) fn read(
    file: &File<'_>,
    section: usize,
    btf: Option<&Btf>,
    maps: &mut Maps,
) -> Result<(), Error> {
    let data = file.sections[section].data;
    let symbols = definitions(file, section);
    let mut found = Vec::new();
    for (number, symbol) in symbols.iter().enumerate() {
        let next = symbols.get(number + 1).map_or(data.len() as u64, |next| next.value);
        let end = match symbol.size {
            0 => next,
            size => symbol.value.saturating_add(size),
        };
        let at = file.at(section, symbol.value).symbol(&symbol.name);
        let range = symbol.value as usize..usize::try_from(end).unwrap_or(usize::MAX);
        let Some(bytes) = data.get(range) else {
            return Err(Error::malformed(at, "ends outside its section"));
        };
        found.push((definition(&symbol.name, bytes, at, btf)?, symbol.value));
    }
    let first = maps.defs.len();
    let (definitions, offsets): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let Some(linked) = linked(&definitions, first) else {
        let at = Place::new(file.name).section(&file.sections[section].name);
        let what = format!("maps of maps that fill more than {MAX_PLACED} slots");
        return Err(Error::TooBig { at, what });
    };
    for (def, offset) in linked.into_iter().zip(offsets) {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        maps.define(section, offset, def);
    }
    Ok(())
}

/// One definition, and its references to others of its section.
struct Definition {
    def: MapDef,
    inner: Inner,
    /// iproute2's id, 0 for none.
    id: u32,
    /// Slot that this map takes in maps of maps whose inner map it is.
    slot: Option<u32>,
}

/// Which definition describes the maps in a map of maps.
enum Inner {
    None,
    Number(u32),
    Id(u32),
}

/// Gives maps of maps their inner maps. `first` is the number that the first map will have.
/// `None` when they fill too many slots.
fn linked(definitions: &[Definition], first: usize) -> Option<Vec<MapDef>> {
    let mut by_id: HashMap<u32, Vec<usize>> = HashMap::new();
    for (number, definition) in definitions.iter().enumerate().filter(|(_, one)| one.id != 0) {
        by_id.entry(definition.id).or_default().push(number);
    }
    let mut slots = 0;
    let mut maps = Vec::with_capacity(definitions.len());
    for Definition { def, inner, .. } in definitions {
        let numbers = match inner {
            _ if !def.kind.is_map_of_maps() => &[],
            Inner::None => &[],
            Inner::Number(number) => &[*number as usize][..],
            Inner::Id(id) => by_id.get(id).map(Vec::as_slice).unwrap_or_default(),
        };
        let inner = numbers.first().and_then(|number| definitions.get(*number));
        let inner = inner.filter(|inner| !inner.def.kind.is_map_of_maps());
        let mut def = MapDef { inner: inner.map(|one| Box::new(one.def.clone())), ..def.clone() };
        // A slot is a number of four bytes, so it cannot be a key of another size.
        if def.key_size == 4 {
            let placed = numbers.iter().filter_map(|map| Some((definitions.get(*map)?.slot?, map)));
            let placed = placed.map(|(index, map)| Initial::Map { index, map: first + map });
            def.initial = placed.take(MAX_PLACED + 1 - slots).collect();
            slots += def.initial.len();
        }
        if slots > MAX_PLACED {
            return None;
        }
        maps.push(def);
    }
    Some(maps)
}

/// Symbols of the section, by place.
fn definitions<'f>(file: &'f File<'_>, section: usize) -> Vec<&'f Symbol> {
    let named = |symbol: &&Symbol| symbol.kind != SymbolKind::Section && !symbol.name.is_empty();
    let mut symbols: Vec<_> = file.symbols_of(section).filter(named).collect();
    symbols.sort_by_key(|symbol| symbol.value);
    symbols.dedup_by_key(|symbol| symbol.value);
    symbols
}

fn definition(name: &str, bytes: &[u8], at: Place, btf: Option<&Btf>) -> Result<Definition, Error> {
    if bytes.len() < 16 || !bytes.len().is_multiple_of(4) {
        let what = format!("{} bytes; `struct bpf_map_def` has 20", bytes.len());
        return Err(Error::map(at, what));
    }
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let word = |number: usize| words.get(number).copied().unwrap_or(0);
    let mut def = MapDef {
        name: name.to_owned(),
        kind: MapKind(word(0)),
        key_size: word(1),
        value_size: word(2),
        max_entries: word(3),
        flags: word(4),
        ..MapDef::default()
    };
    (def.key_type, def.value_type) = btf.map_or((0, 0), |btf| annotated(btf, name));
    let (mut id, mut slot) = (0, None);
    let (known, inner) = match bytes.len() {
        IPROUTE_LEN => {
            def.pin_by_name = word(6) != 0;
            (id, slot) = (word(5), Some(word(8)).filter(|slot| *slot != NO_SLOT));
            (9, Inner::Id(word(7)))
        }
        SAMPLES_LEN.. => {
            def.numa_node = (def.flags & NUMA_NODE != 0).then_some(word(6));
            (if def.numa_node.is_some() { 7 } else { 6 }, Inner::Number(word(5)))
        }
        _ => (5, Inner::None),
    };
    if let Some(number) = (known..words.len()).find(|number| word(*number) != 0) {
        let what = format!("field {number} holds {}; its meaning is unknown", word(number));
        return Err(Error::map(at, what));
    }
    Ok(Definition { def, inner, id, slot })
}

/// Types named by the macro `BPF_ANNOTATE_KV_PAIR`: members `key` and `value` of a struct.
fn annotated(btf: &Btf, name: &str) -> (u32, u32) {
    let id = btf.find(Kind::Struct, &format!("____btf_map_{name}"));
    let member = |wanted: &str| {
        let mut members = id.and_then(|id| btf.ty(id))?.members();
        members.find(|member| member.name == wanted).map(|member| member.type_id)
    };
    match (member("key"), member("value")) {
        (Some(key), Some(value)) => (key, value),
        _ => (0, 0),
    }
}
