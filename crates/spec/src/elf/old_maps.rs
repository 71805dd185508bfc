//! Map definitions of the old style: `struct bpf_map_def SEC("maps")`, as plain numbers.
//!
//! Their length tells the dialect: 16 or 20 bytes (type, key, value, entries, flags), 28 (the
//! kernel's samples: inner map number, NUMA node), 36 (iproute2: id, pinning, inner id, inner
//! number). Rule: a field that no dialect explains must be zero.

use super::file::{File, Symbol, SymbolKind};
use super::maps::Maps;
use crate::btf::{Btf, Kind};
use crate::error::{Error, Place};
use crate::model::{MapDef, MapKind};

const SAMPLES_LEN: usize = 28;
const IPROUTE_LEN: usize = 36;
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
    let templates: Vec<_> = found.iter().map(|((def, _), _)| def.clone()).collect();
    for ((mut def, inner), offset) in found {
        if def.kind.is_map_of_maps() {
            let template = inner.and_then(|inner| templates.get(inner as usize));
            def.inner = template.filter(|inner| inner.inner.is_none()).cloned().map(Box::new);
        }
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        maps.define(section, offset, def);
    }
    Ok(())
}

/// Symbols of the section, by place.
fn definitions<'f>(file: &'f File<'_>, section: usize) -> Vec<&'f Symbol> {
    let inside = file.symbols.iter().filter(|symbol| symbol.section == Some(section));
    let named = |symbol: &&Symbol| symbol.kind != SymbolKind::Section && !symbol.name.is_empty();
    let mut symbols: Vec<_> = inside.filter(named).collect();
    symbols.sort_by_key(|symbol| symbol.value);
    symbols.dedup_by_key(|symbol| symbol.value);
    symbols
}

/// A definition and the number of its inner map, if it has one.
fn definition(
    name: &str,
    bytes: &[u8],
    at: Place,
    btf: Option<&Btf>,
) -> Result<(MapDef, Option<u32>), Error> {
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
    let known;
    let inner;
    if bytes.len() == IPROUTE_LEN {
        // 5: id of the map, for tail calls by section name; 7: id of the inner map.
        def.pin_by_name = word(6) != 0;
        (known, inner) = (9, Some(word(8)));
    } else if bytes.len() >= SAMPLES_LEN {
        def.numa_node = (def.flags & NUMA_NODE != 0).then_some(word(6));
        (known, inner) = (if def.numa_node.is_some() { 7 } else { 6 }, Some(word(5)));
    } else {
        (known, inner) = (5, None);
    }
    if let Some(number) = (known..words.len()).find(|number| word(*number) != 0) {
        let what = format!("field {number} holds {}; its meaning is unknown", word(number));
        return Err(Error::map(at, what));
    }
    Ok((def, inner))
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
