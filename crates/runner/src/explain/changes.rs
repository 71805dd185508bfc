//! What is not as it was: fields of the packet, values of maps.

use std::collections::BTreeMap;

use packet::dissect::{Dissection, Field, Layer, dissect};

use super::words::Words;
use crate::results::{FieldChange, MapChange};

/// Raw values of maps: as they were first, as they are now.
#[derive(Debug, Default)]
pub struct Values {
    /// By map and key, or by element where the key is unknown.
    changes: BTreeMap<(u32, Entry), Change>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    Key(Vec<u8>),
    Element(u64),
}

#[derive(Debug)]
struct Change {
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
}

impl Values {
    pub fn note(&mut self, map: u32, entry: Entry, old: Option<Vec<u8>>, new: Option<Vec<u8>>) {
        let change = self.changes.entry((map, entry));
        change.and_modify(|known| known.new.clone_from(&new)).or_insert(Change { old, new });
    }

    /// Entries that changed, formatted by type.
    pub fn finish(self, words: &Words) -> Vec<MapChange> {
        let changed = self.changes.into_iter().filter(|(_, change)| change.old != change.new);
        let told = changed.map(|((map, entry), change)| MapChange {
            map: words.map_name(map),
            key: match entry {
                Entry::Key(key) => words.key(map, &key),
                Entry::Element(element) => control::inventory::Tree::Text(format!("#{element}")),
            },
            old: change.old.map(|raw| words.value(map, &raw)),
            new: change.new.map(|raw| words.value(map, &raw)),
        });
        told.collect()
    }
}

/// Layers that came or went, and fields of the others that have other values.
pub fn fields(before: &[u8], after: &[u8]) -> Vec<FieldChange> {
    let (old, new) = (dissect(before), dissect(after));
    let gone = old.layers.iter().filter(|layer| find(&new, &layer.name).is_none());
    let mut changes: Vec<_> = gone
        .map(|layer| FieldChange { field: layer.name.clone(), old: Some(told(layer)), new: None })
        .collect();
    for layer in &new.layers {
        match find(&old, &layer.name) {
            None => changes.push(FieldChange {
                field: layer.name.clone(),
                old: None,
                new: Some(told(layer)),
            }),
            Some(was) => compare((was, before), (layer, after), &mut changes),
        }
    }
    changes
}

fn find<'a>(dissection: &'a Dissection, name: &str) -> Option<&'a Layer> {
    dissection.layers.iter().find(|layer| layer.name == name)
}

fn compare(old: (&Layer, &[u8]), new: (&Layer, &[u8]), changes: &mut Vec<FieldChange>) {
    let longer = old.0.fields.len().max(new.0.fields.len());
    for place in 0..longer {
        let (was, is) = (old.0.fields.get(place), new.0.fields.get(place));
        let bytes = |side: Option<&Field>, packet: &[u8]| {
            side.map(|field| packet[field.range.clone()].to_vec())
        };
        if bytes(was, old.1) == bytes(is, new.1) {
            continue;
        }
        let name = is.or(was).map_or("", |field| field.name);
        changes.push(FieldChange {
            field: format!("{}.{name}", new.0.name),
            old: was.map(|field| field.value.clone()),
            new: is.map(|field| field.value.clone()),
        });
    }
}

/// A layer's fields in one line.
fn told(layer: &Layer) -> String {
    let fields = layer.fields.iter().map(|field| format!("{} {}", field.name, field.value));
    fields.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(tag: &[u8], ttl: u8) -> Vec<u8> {
        let ip = [
            0x45, 0, 0, 28, 0, 1, 0, 0, ttl, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 8, 0, 8,
            0, 0,
        ];
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], tag, &[8, 0], &ip].concat()
    }

    fn words(before: &[u8], after: &[u8]) -> Vec<String> {
        let change = |change: FieldChange| {
            let side = |side: Option<String>| side.unwrap_or_else(|| "none".to_owned());
            format!("{}: {} → {}", change.field, side(change.old), side(change.new))
        };
        fields(before, after).into_iter().map(change).collect()
    }

    #[test]
    fn fields_are_told_by_name() {
        assert_eq!(words(&packet(&[], 64), &packet(&[], 63)), ["ipv4.ttl: 64 → 63"]);
        assert!(words(&packet(&[], 64), &packet(&[], 64)).is_empty());
    }

    #[test]
    fn layers_come_and_go() {
        let tagged = packet(&[0x81, 0, 0, 10], 64);
        let vlan = "tci id 10, priority 0, drop eligible 0, type IPv4 (0x0800)";
        assert_eq!(
            words(&packet(&[], 64), &tagged),
            ["eth.type: IPv4 (0x0800) → VLAN (0x8100)".to_owned(), format!("vlan: none → {vlan}"),]
        );
        assert_eq!(words(&tagged, &packet(&[], 64))[0], format!("vlan: {vlan} → none"));
    }

    #[test]
    fn bytes_behind_the_end_are_a_layer() {
        let longer = [packet(&[], 64), vec![1, 2]].concat();
        assert_eq!(words(&packet(&[], 64), &longer), ["padding: none → data 0102 (2 bytes)"]);
    }
}
