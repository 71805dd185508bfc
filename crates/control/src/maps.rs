//! Changes of maps in the kernel, of any owner: entries and pins.
//!
//! Rule: a key that is absent or present where the caller expected otherwise is a result and not an
//! error. Not here: reading maps (`inventory`).

use std::path::Path;

use kernel::{Map, PerCpu, Program};
use serde::Serialize;
use spec::{Expect, Map as _, MapKind};
use sys::errno::{E2BIG, EACCES, EEXIST, EINVAL, ENOENT, ENOSPC, EPERM};

use crate::error::{Context as _, MapError, Result};
use crate::inventory::{MapRef, Tree, Types, descriptor, map_ref};

/// Opens a pinned map for reading and, if that is permitted, for changes.
pub fn open_pin(path: &Path) -> kernel::Result<Map> {
    match Map::from_pin(path) {
        Err(error) if error.errno() == Some(EACCES) => Map::from_pin_read_only(path),
        opened => opened,
    }
}

/// The outcome of an update or a deletion.
#[derive(Debug, Serialize)]
pub struct Changed {
    /// The map.
    pub map: MapRef,
    /// The key.
    pub key: Tree,
    /// The change was made. `false`, with exit code 1, when the key to delete (or with `--exist`,
    /// to set) is absent, or with `--noexist` is present.
    pub done: bool,
    /// What happened to the entry.
    #[serde(skip)]
    pub outcome: Outcome,
}

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has the value.
    Set,
    /// It was deleted.
    Deleted,
    /// It is absent, so nothing was changed.
    Absent,
    /// It was present before, so nothing was changed.
    Present,
}

/// A pin that was made.
#[derive(Debug, Serialize)]
pub struct Pinned {
    /// The map.
    pub map: MapRef,
    /// Path of the pin.
    pub path: String,
}

/// A kernel object that a map can hold.
#[derive(Debug)]
pub enum Object {
    /// For program arrays.
    Program(Program),
    /// For maps of maps.
    Map(Map),
}

/// Sets the value of an entry; in a per-CPU map, that of each processor.
///
/// # Errors
/// The map is frozen or full, or the kernel refuses the change for another reason.
pub fn set(map: &Map, key: &[u8], value: &[u8], expect: Expect) -> Result<Changed> {
    let value = match map.kind().is_per_cpu() {
        true => PerCpu::repeat(value, sys::cpu::possible()?).into_bytes(),
        false => value.to_vec(),
    };
    Ok(changed(map, key, write(map, key, &value, expect)?))
}

/// Writes a value, in a per-CPU map that of all processors.
pub(crate) fn write(map: &Map, key: &[u8], value: &[u8], expect: Expect) -> Result<Outcome> {
    match map.update(key, value, expect) {
        Ok(()) => Ok(Outcome::Set),
        Err(error) if expect == Expect::Absent && error.errno() == Some(EEXIST) => {
            Ok(Outcome::Present)
        }
        Err(error) if expect == Expect::Present && error.errno() == Some(ENOENT) => {
            Ok(Outcome::Absent)
        }
        Err(error) => Err(refused(map, key, error).into()),
    }
}

/// Puts a kernel object into a map of its kind.
///
/// # Errors
/// The kernel refuses the object.
pub fn set_object(map: &Map, key: &[u8], object: &Object) -> Result<Changed> {
    let written = match object {
        Object::Map(inner) => map.put_map(key, inner),
        Object::Program(program) => {
            let index = key.try_into();
            let index = index.map_err(|_| MapError::NotAnIndex { map: map.name().to_owned() })?;
            map.put_program(u32::from_ne_bytes(index), program)
        }
    };
    written.map_err(|error| refused(map, key, error))?;
    Ok(changed(map, key, Outcome::Set))
}

/// Deletes an entry.
///
/// # Errors
/// The map is an array or frozen, or the kernel refuses the change for another reason.
pub fn delete(map: &Map, key: &[u8]) -> Result<Changed> {
    match map.delete(key) {
        Ok(true) => Ok(changed(map, key, Outcome::Deleted)),
        Ok(false) => Ok(changed(map, key, Outcome::Absent)),
        Err(error) if error.errno() == Some(EINVAL) && is_array(map) => {
            Err(MapError::NotDeletable { map: map.name().to_owned() }.into())
        }
        Err(error) => Err(refused(map, key, error).into()),
    }
}

/// Pins a map.
///
/// # Errors
/// The directory is not in a bpffs, or the kernel refuses the pin.
pub fn pin(map: &Map, path: &Path) -> Result<Pinned> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let (path, folder) = (path.to_owned(), folder.to_owned());
        return Err(MapError::NoFolder { path, folder }.into());
    }
    if !sys::mount::is_bpffs(folder) {
        let (path, folder) = (path.to_owned(), folder.to_owned());
        return Err(MapError::NoBpffs { path, folder }.into());
    }
    map.pin(path).with_context(|| format!("cannot pin at {}", path.display()))?;
    Ok(Pinned { map: map_ref(map.info()), path: path.display().to_string() })
}

/// Whether entries are kernel objects.
pub fn holds_objects(map: &Map) -> bool {
    map.kind() == MapKind::PROG_ARRAY || map.kind().is_map_of_maps()
}

fn changed(map: &Map, key: &[u8], outcome: Outcome) -> Changed {
    let done = matches!(outcome, Outcome::Set | Outcome::Deleted);
    Changed { map: map_ref(map.info()), key: Types::of(map).key(key), done, outcome }
}

/// The kernel's errno in terms of this map.
fn refused(map: &Map, key: &[u8], error: kernel::Error) -> MapError {
    let (errno, cause) = (error.errno(), Box::new(error));
    let (name, entries) = (map.name().to_owned(), map.max_entries());
    match errno {
        Some(EPERM) if descriptor(map).frozen => MapError::Frozen { map: name, cause },
        Some(EPERM) => MapError::ReadOnly { map: name, cause },
        Some(E2BIG) if is_array(map) => MapError::Index { map: name, entries, cause },
        Some(E2BIG | ENOSPC) => MapError::Full { map: name, entries, cause },
        Some(EEXIST) if is_array(map) => MapError::ArrayEntry { map: name, cause },
        _ => MapError::Refused { map: name, key: Types::of(map).key(key).to_string(), cause },
    }
}

fn is_array(map: &Map) -> bool {
    ARRAYS.contains(&map.kind())
}

const ARRAYS: &[MapKind] = &[MapKind::ARRAY, MapKind::PERCPU_ARRAY, MapKind::ARRAY_OF_MAPS];
