//! Two filters composed into one program: a first part, which sees each packet before the active
//! rules do, and a second part, which has the active rules.
//!
//! Rule: both parts are ordinary filters that differ in one global. The maps of the first part are
//! renamed, so that each part has maps of its own, except one map that both share. Not here: what
//! the first part is for (`trial`, `tap`), composing the parts, and loading the result.

use spec::Spec;

use crate::abi::Part;
use crate::maps::{CHANGES, KEPT, PAIRS, SEEN, WATCHING};

/// The name of a first part's map, by the name of the map in the object.
pub fn new_name(map: &str) -> String {
    format!("{PREFIX}{}", map.trim_start_matches('.'))
}

/// Whether a map exists only while packets are tried or sampled: no later program reuses it.
pub fn is_temporary(map: &str) -> bool {
    map.starts_with(PREFIX) || [PAIRS, CHANGES, SEEN, KEPT, WATCHING].contains(&map)
}

/// Sets which part of a composed program a filter is.
pub(super) fn set_part(spec: &mut Spec, part: Part) -> Result<(), spec::Error> {
    spec.set_global(PART, &(part as u32).to_le_bytes())
}

/// Renames the maps of a first part, except the one that both parts share.
pub(super) fn prefix_map_names(spec: &mut Spec, shared: &str) {
    for map in &mut spec.maps {
        if map.name == shared {
            map.pin_by_name = true;
        } else {
            map.name = new_name(&map.name);
        }
    }
}

/// Prepares the maps of a second part: the shared one is found by its name, and those of the
/// composed program get their sizes.
pub(super) fn prepare_maps(spec: &mut Spec, shared: &str, entries: &[(&str, u32)]) {
    for map in &mut spec.maps {
        if map.name == shared {
            map.pin_by_name = true;
        }
        if let Some((_, entries)) = entries.iter().find(|(name, _)| *name == map.name) {
            map.max_entries = *entries;
        }
    }
}

const PREFIX: &str = "new_";
const PART: &str = "filter_part";
