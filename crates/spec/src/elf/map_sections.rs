//! All maps of an object: definitions in `.maps` and `maps`, data sections, kernel configuration.
//!
//! Order: definitions, then data sections as they stand in the file, then `.kconfig`. A data
//! section is an array of one value with the section's name; the runtime shortens it to the
//! kernel's 15 characters. Not here: how a definition reads (`btf_maps`, `old_maps`).

use super::externs::Externs;
use super::file::{File, Section};
use super::maps::Maps;
use super::{btf_maps, old_maps};
use crate::btf::{Btf, Kind, Linkage};
use crate::error::{Error, Place};
use crate::limits::MAX_DATA;
use crate::model::{MapDef, MapKind};

impl Maps {
    /// Reads the map definitions of all sections.
    pub fn read(file: &File<'_>, btf: Option<&Btf>, externs: &Externs) -> Result<Self, Error> {
        let mut maps = Self::default();
        for number in 0..file.sections.len() {
            let name = &file.sections[number].name;
            if name == "maps" || name.starts_with("maps/") {
                old_maps::read(file, number, btf, &mut maps)?;
            }
        }
        btf_maps::read(file, btf, &mut maps)?;
        for (number, section) in file.sections.iter().enumerate() {
            if is_data(section) {
                let def = data_map(file, section, btf)?;
                maps.data.insert(number, maps.defs.len());
                maps.defs.push(def);
            }
        }
        if externs.kconfig_size > 0 {
            maps.kconfig = Some(maps.defs.len());
            let contents = vec![0; externs.kconfig_size as usize];
            maps.defs.push(section_map(".kconfig", contents, true, btf));
        }
        Ok(maps)
    }
}

/// Whether a section becomes a map of one value.
pub(super) fn is_data(section: &Section<'_>) -> bool {
    let has_bytes = section.allocated && !section.executable && section.size > 0;
    has_bytes && has_data_name(&section.name)
}

/// Whether a section of this name holds variables: `.data`, or `.data.` and a suffix.
pub(crate) fn has_data_name(name: &str) -> bool {
    [".rodata", ".data", ".bss"].iter().any(|base| {
        name.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

fn data_map(file: &File<'_>, section: &Section<'_>, btf: Option<&Btf>) -> Result<MapDef, Error> {
    if section.size > MAX_DATA {
        let at = Place::new(file.name).section(&section.name);
        let what = format!("{} bytes of variables, at most {MAX_DATA} are taken", section.size);
        return Err(Error::TooBig { at, what });
    }
    let contents =
        if section.zero { vec![0; section.size as usize] } else { section.data.to_vec() };
    Ok(section_map(&section.name, contents, section.name.starts_with(".rodata"), btf))
}

fn section_map(name: &str, contents: Vec<u8>, frozen: bool, btf: Option<&Btf>) -> MapDef {
    let datasec = btf.and_then(|btf| btf.find(Kind::Datasec, name)).unwrap_or(0);
    let mut flags = if frozen { RDONLY_PROG } else { 0 };
    if btf.is_some_and(|btf| has_global(btf, datasec)) {
        flags |= MMAPABLE;
    }
    MapDef {
        name: name.to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: contents.len() as u32,
        max_entries: 1,
        flags,
        value_type: datasec,
        contents: Some(contents),
        frozen,
        ..MapDef::default()
    }
}

/// User space maps a section into its memory only for variables that it can name.
fn has_global(btf: &Btf, datasec: u32) -> bool {
    let vars = btf.ty(datasec).into_iter().flat_map(|ty| ty.vars());
    let mut linkages = vars.filter_map(|place| btf.ty(place.type_id)).map(|var| var.linkage());
    linkages.any(|linkage| linkage != Linkage::Static as u32)
}

/// `BPF_F_RDONLY_PROG`.
const RDONLY_PROG: u32 = 1 << 7;
/// `BPF_F_MMAPABLE`.
const MMAPABLE: u32 = 1 << 10;
