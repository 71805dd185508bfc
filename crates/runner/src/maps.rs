//! The maps after the run, by their types.

use control::inventory::{Entries, Entry, MapRef, Tree, Types, content, order};
use functions::stats;
use spec::{MapDef, Spec, Verdict};

use crate::arm::Arm;
use crate::notice::Notice;
use crate::setup::Setup;

impl Arm {
    /// What is in each map that holds anything. Constants of the object are left out, and maps
    /// that are to be ignored; a request to end the run ends the listing.
    pub fn maps(&self, setup: &Setup<'_>) -> Vec<Entries> {
        let mut shown = Vec::new();
        for (def, id) in setup.spec.maps.iter().zip(1..).filter(|(def, _)| setup.shows(def)) {
            let raw = match self.entries(def, &setup.callbacks.interrupt) {
                Ok(Some(raw)) => raw,
                Ok(None) => continue,
                Err(_interrupted) => {
                    let map = def.name.clone();
                    setup.callbacks.observer.notify(&Notice::MapsNotListed { map });
                    break;
                }
            };
            let listed = listed(&setup.spec, def, id, raw);
            if !listed.entries.is_empty() {
                shown.push(listed);
            }
        }
        shown
    }
}

/// Entries by their types and in order, without values that are zero. `id` is the place of the map
/// in the object, from 1: the kernel's own ids differ from run to run.
pub fn listed(spec: &Spec, def: &MapDef, id: u32, raw: Vec<(Vec<u8>, Vec<u8>)>) -> Entries {
    let types = Types::of_def(def, spec.btf.as_ref());
    let reasons =
        (def.name == stats::MAP).then(|| spec.btf.as_ref().and_then(stats::labels)).flatten();
    let mut entries: Vec<_> = raw
        .into_iter()
        .filter(|(_, value)| value.iter().any(|byte| *byte != 0))
        .map(|(key, value)| Entry {
            key: reason(reasons.as_deref(), &key).unwrap_or_else(|| types.key(&key)),
            content: content(def.kind, def.value_size, &types, value),
        })
        .collect();
    entries.sort_by(|a, b| order(&a.key, &b.key));
    Entries { map: reference(def, id), entries }
}

/// The counter that an index of a counting program stands for.
pub fn reason(labels: Option<&[String]>, key: &[u8]) -> Option<Tree> {
    let index = u32::from_le_bytes(key.try_into().ok()?) as usize;
    let label = labels?.get(index / Verdict::ALL.len())?;
    Some(Tree::Text(format!("{} {label}", Verdict::ALL[index % Verdict::ALL.len()])))
}

fn reference(def: &MapDef, id: u32) -> MapRef {
    let kind = def.kind.name().map_or_else(|| def.kind.0.to_string(), str::to_owned);
    MapRef { id, kind, name: def.name.clone() }
}
