//! The user-space side of a map: what `bpf(2)`'s element commands do, as methods.
//!
//! Sizes are checked here, once for all types; a frozen or write-only map refuses as the kernel
//! does (`EPERM`).

use spec::Expect;

use super::{Entry, Map, Storage as _, Table, flag};
use crate::errno::Errno;

/// A refused operation on a map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("map `{map}`: {operation}: {errno}")]
pub struct MapError {
    pub map: String,
    pub operation: &'static str,
    pub errno: Errno,
}

impl Map {
    /// `BPF_MAP_LOOKUP_ELEM`: the value, of all processors where it is per CPU.
    pub fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.check_key(key)?;
        if self.facts().flags & flag::WRONLY != 0 {
            return Err(Errno::EPERM);
        }
        each!(self.table(), storage => storage.read(self.facts(), key))
    }

    /// `BPF_MAP_UPDATE_ELEM`.
    pub fn write(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.check_key(key)?;
        self.check_writable()?;
        if value.len() != spec::Map::value_size(self) {
            return Err(Errno::EINVAL);
        }
        each!(self.table(), storage => storage.write(self.facts(), Entry { key, value, flags }))
    }

    /// `BPF_MAP_DELETE_ELEM`.
    pub fn remove(&self, key: &[u8]) -> Result<(), Errno> {
        self.check_key(key)?;
        self.check_writable()?;
        self.delete(key)
    }

    /// `BPF_MAP_GET_NEXT_KEY`: the key behind `key`, or the first; `ENOENT` behind the last.
    pub fn next_key(&self, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        if let Some(key) = key {
            self.check_key(key)?;
        }
        each!(self.table(), storage => storage.next_key(self.facts(), key))
    }

    fn check_key(&self, key: &[u8]) -> Result<(), Errno> {
        if key.len() == self.facts().key_size as usize { Ok(()) } else { Err(Errno::EINVAL) }
    }

    fn check_writable(&self) -> Result<(), Errno> {
        let refused = self.is_frozen() || self.facts().flags & flag::RDONLY != 0;
        if refused { Err(Errno::EPERM) } else { Ok(()) }
    }

    fn error(&self, operation: &'static str) -> impl Fn(Errno) -> MapError {
        move |errno| MapError { map: self.facts().name.clone(), operation, errno }
    }
}

impl spec::Map for Map {
    type Error = MapError;

    fn key_size(&self) -> usize {
        self.facts().key_size as usize
    }

    fn value_size(&self) -> usize {
        let facts = self.facts();
        if facts.kind.is_per_cpu() {
            facts.stride() as usize * facts.cpus as usize
        } else {
            facts.value_size as usize
        }
    }

    fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, MapError> {
        match self.read(key) {
            Ok(value) => Ok(Some(value)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(self.error("lookup")(errno)),
        }
    }

    fn update(&self, key: &[u8], value: &[u8], expect: Expect) -> Result<(), MapError> {
        let flags = match expect {
            Expect::Any => flag::ANY,
            Expect::Absent => flag::NOEXIST,
            Expect::Present => flag::EXIST,
        };
        self.write(key, value, flags).map_err(self.error("update"))
    }

    fn delete(&self, key: &[u8]) -> Result<bool, MapError> {
        match self.remove(key) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(errno) => Err(self.error("delete")(errno)),
        }
    }

    fn keys(&self) -> Result<Vec<Vec<u8>>, MapError> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        loop {
            match self.next_key(keys.last().map(Vec::as_slice)) {
                Ok(key) => keys.push(key),
                Err(Errno::ENOENT) => return Ok(keys),
                Err(errno) => return Err(self.error("next key")(errno)),
            }
        }
    }
}
