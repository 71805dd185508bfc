//! `KEY.field=VALUE`: entries of maps set by the types of their keys and values.
//!
//! Rule: all assignments to one entry become one update, so that programs see the old or the new
//! value; between reading and writing, what a program changes in the entry is lost. Everything is
//! parsed before the first entry is written. Not here: maps of kernel objects (`maps`).

use std::collections::BTreeMap;
use std::str::FromStr;

use kernel::{Map, PerCpu};
use serde::Serialize;
use spec::{Expect, Map as _};

use crate::error::{MapError, Result};
use crate::inventory::{Content, MapRef, Tree, Types, content, map_ref};
use crate::maps::{self, Outcome};

/// A value for an entry of a map, or for a field of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Text of the key.
    pub key: String,
    /// The field, such as `.peer.port` or `[2]`; empty for the whole value.
    pub path: String,
    /// Text of the value.
    pub value: String,
}

/// How entries are set.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssignOptions {
    /// Which entries are set.
    pub expect: Expect,
    /// In a per-CPU map, the value of this processor only.
    pub cpu: Option<u32>,
}

/// The entries that were set.
#[derive(Debug, Serialize)]
pub struct AssignReport {
    /// The map.
    pub map: MapRef,
    /// Entries in the order of their keys' bytes.
    pub entries: Vec<AssignedEntry>,
}

/// An entry that was set.
#[derive(Debug, Serialize)]
pub struct AssignedEntry {
    /// The key.
    pub key: Tree,
    /// The entry has the value. `false`, with exit code 1, when the key is absent with `--exist`,
    /// or present with `--noexist`.
    pub done: bool,
    #[serde(flatten)]
    pub content: Content,
    /// What happened to the entry.
    #[serde(skip)]
    pub outcome: Outcome,
}

impl AssignReport {
    /// Whether every entry was set.
    pub fn is_done(&self) -> bool {
        self.entries.iter().all(|entry| entry.done)
    }
}

impl FromStr for Assignment {
    type Err = MapError;

    /// A key ends before `[`, or before a point that a letter follows; one in braces or quotes ends
    /// with them.
    fn from_str(text: &str) -> std::result::Result<Self, MapError> {
        let malformed = || MapError::Assignment { text: text.to_owned() };
        let end = key_end(text).ok_or_else(malformed)?;
        let (key, rest) = text.split_at(end);
        let (path, value) = rest.split_once('=').ok_or_else(malformed)?;
        let quoted = key.strip_prefix('\'').and_then(|key| key.strip_suffix('\''));
        let key = quoted.unwrap_or(key);
        if key.is_empty() {
            return Err(malformed());
        }
        Ok(Self { key: key.to_owned(), path: path.to_owned(), value: value.to_owned() })
    }
}

/// Length of the key at the start of an assignment.
fn key_end(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'\'' => Some(text[1..].find('\'')? + 2),
        b'{' => {
            let mut depth = 0_usize;
            for (at, letter) in text.char_indices() {
                match letter {
                    '{' => depth += 1,
                    '}' if depth == 1 => return Some(at + 1),
                    '}' => depth -= 1,
                    _ => {}
                }
            }
            None
        }
        _ => {
            let head = text.find('=')?;
            let bytes = text.as_bytes();
            let begins = |at: &usize| {
                let next = bytes.get(at + 1).copied().unwrap_or_default();
                bytes[*at] == b'['
                    || bytes[*at] == b'.' && (next.is_ascii_alphabetic() || next == b'_')
            };
            Some((0..head).find(begins).unwrap_or(head))
        }
    }
}

/// Sets entries of a map: the given fields, or whole values. Fields of an entry that is absent are
/// zero.
///
/// # Errors
/// A key, field or value does not fit its type, or the kernel refuses the change. Entries before
/// that one have then been set.
pub fn assign(
    map: &Map,
    assignments: &[Assignment],
    options: AssignOptions,
) -> Result<AssignReport> {
    if maps::holds_objects(map) {
        return Err(MapError::HoldsObjects { map: map.name().to_owned() }.into());
    }
    let types = Types::of(map);
    let mut entries: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
    for assignment in assignments {
        let key = types.key_bytes(&assignment.key, map.info().key_size)?;
        let entry = match entries.entry(key) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                let entry = Entry::read(map, free.key(), options)?;
                free.insert(entry)
            }
        };
        entry.set(&types, assignment)?;
    }
    let mut report = AssignReport { map: map_ref(map.info()), entries: Vec::new() };
    for (key, entry) in entries {
        let bytes = entry.into_bytes(map);
        let outcome = maps::write(map, &key, &bytes, options.expect)?;
        report.entries.push(AssignedEntry {
            key: types.key(&key),
            done: outcome == Outcome::Set,
            content: content(map.kind(), map.info().value_size, &types, bytes),
            outcome,
        });
    }
    Ok(report)
}

/// The value of an entry, for each processor in a per-CPU map.
#[derive(Debug)]
struct Entry {
    values: Vec<Vec<u8>>,
    cpu: Option<usize>,
}

impl Entry {
    fn read(map: &Map, key: &[u8], options: AssignOptions) -> Result<Self> {
        let size = map.info().value_size as usize;
        if !map.kind().is_per_cpu() {
            if options.cpu.is_some() {
                return Err(MapError::NotPerCpu { map: map.name().to_owned() }.into());
            }
            let value = map.lookup(key)?.unwrap_or_else(|| vec![0; size]);
            return Ok(Self { values: vec![value], cpu: None });
        }
        let cpus = sys::cpu::possible()?;
        let found = map.lookup_per_cpu(key)?;
        let values = found.unwrap_or_else(|| PerCpu::repeat(&vec![0; size], cpus));
        let cpu = options.cpu.map(|cpu| cpu as usize);
        if let Some(cpu) = cpu.filter(|cpu| *cpu >= cpus) {
            return Err(MapError::NoCpu { cpu, cpus }.into());
        }
        Ok(Self { values: values.values().map(<[u8]>::to_vec).collect(), cpu })
    }

    fn set(&mut self, types: &Types, assignment: &Assignment) -> Result<()> {
        let Assignment { path, value, .. } = assignment;
        let only = self.cpu;
        let chosen = self.values.iter_mut().enumerate();
        for (_, bytes) in chosen.filter(|(cpu, _)| only.is_none_or(|only| only == *cpu)) {
            types.set_value(bytes, path, value)?;
        }
        Ok(())
    }

    /// As the map takes it.
    fn into_bytes(self, map: &Map) -> Vec<u8> {
        let is_per_cpu = map.kind().is_per_cpu();
        let padded = self.values.into_iter().map(|mut value| {
            let len = value.len();
            value.resize(if is_per_cpu { len.next_multiple_of(8) } else { len }, 0);
            value
        });
        padded.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_end_before_fields() {
        for (text, [key, path, value]) in [
            ("7=1", ["7", "", "1"]),
            ("7.packets=1", ["7", ".packets", "1"]),
            ("10.0.0.1=5", ["10.0.0.1", "", "5"]),
            ("10.0.0.1.peer.port=5", ["10.0.0.1", ".peer.port", "5"]),
            ("fd00::1[2]=5", ["fd00::1", "[2]", "5"]),
            ("hex:0a0b._x=hex:00", ["hex:0a0b", "._x", "hex:00"]),
            ("{a: 1, b: {c: 2}}.d[0]={e: 3=}", ["{a: 1, b: {c: 2}}", ".d[0]", "{e: 3=}"]),
            ("'eth0.vlan'.x=1", ["eth0.vlan", ".x", "1"]),
        ] {
            let found: Assignment = text.parse().unwrap();
            assert_eq!([&*found.key, &*found.path, &*found.value], [key, path, value], "{text}");
        }
        for text in ["", "7", "=1", ".x=1", "{a: 1=2", "'a=1"] {
            let error = text.parse::<Assignment>().unwrap_err().to_string();
            assert!(error.contains("KEY[.FIELD]=VALUE"), "{error}");
        }
    }
}
