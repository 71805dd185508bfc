//! `Maps`: the maps of an object found so far, and the positions of their definitions.
//!
//! Not here: how they are found (`map_sections`) and what the object fills in (`map_values`).

use std::collections::HashMap;

use crate::error::{Error, Place};
use crate::model::{MapDef, Target};

#[derive(Default)]
pub(super) struct Maps {
    /// The definitions.
    pub defs: Vec<MapDef>,
    /// Number of the `.kconfig` map.
    pub kconfig: Option<usize>,
    /// Positions of definitions: section, offset, map.
    placed: HashMap<(usize, u32), usize>,
    /// Data sections.
    pub data: HashMap<usize, usize>,
    /// `values` that the object fills in.
    pub slots: Vec<Slots>,
}

/// The initialised `values` of one map definition.
pub(super) struct Slots {
    /// Number of the map.
    pub map: usize,
    /// Index of the section.
    pub section: usize,
    /// Bytes of the section that hold pointers, eight each.
    pub start: u32,
    /// End of its part of the section, in bytes.
    pub end: u32,
}

impl Maps {
    /// Adds a definition found at an offset of a section.
    pub fn define(&mut self, section: usize, offset: u32, def: MapDef) {
        self.placed.insert((section, offset), self.defs.len());
        self.defs.push(def);
    }

    /// The map defined at this place.
    pub fn at(&self, section: usize, offset: u32) -> Option<usize> {
        self.placed.get(&(section, offset)).copied()
    }

    /// What a 64-bit load of this place means.
    pub fn target(&self, section: usize, offset: u32) -> Option<Target> {
        if let Some(map) = self.data.get(&section) {
            return Some(Target::MapValue { map: *map, offset });
        }
        self.at(section, offset).map(|map| Target::Map { map })
    }

    /// Why a place is neither map nor data.
    pub fn no_target(&self, section: usize, at: Place) -> Error {
        if self.placed.keys().any(|(holder, _)| *holder == section) {
            return Error::malformed(at, "points into a map definition");
        }
        Error::unsupported(
            at,
            "refers to a section that is neither code nor a map nor data: \
             put variables into .data*, .rodata* or .bss*",
        )
    }
}
