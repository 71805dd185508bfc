//! The user side of a map: the element commands of `bpf(2)` as methods.
//!
//! Sizes are checked here, once for all types; a frozen or write-only map returns `EPERM`, as in
//! the kernel.

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
    /// `BPF_MAP_LOOKUP_ELEM`: the value; of all processors if it is per CPU.
    pub fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.read_with(key, flag::ANY)
    }

    /// `BPF_MAP_LOOKUP_ELEM` with flags: `BPF_F_LOCK` reads under the value's spin lock.
    pub fn read_with(&self, key: &[u8], flags: u64) -> Result<Vec<u8>, Errno> {
        self.check_key(key)?;
        self.check_lock(flags & !flag::LOCK == 0, flags, Self::check_readable)?;
        if flags & flag::LOCK != 0 {
            return each!(self.table(), storage => storage.read_locked(self.attributes(), key));
        }
        each!(self.table(), storage => storage.read(self.attributes(), key))
    }

    /// `BPF_MAP_UPDATE_ELEM`: sets a value; `flags` are those of `bpf(2)`.
    pub fn write(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.check_key(key)?;
        self.check_lock(true, flags, Self::check_writable)?;
        if value.len() != spec::Map::value_size(self) {
            return Err(Errno::EINVAL);
        }
        let entry = Entry { key, value, flags };
        each!(self.table(), storage => storage.write(self.attributes(), entry))
    }

    /// `BPF_MAP_LOOKUP_AND_DELETE_ELEM`: reads and removes in one step.
    pub fn take(&self, key: &[u8], flags: u64) -> Result<Vec<u8>, Errno> {
        self.check_key(key)?;
        let both = |map: &Self| map.check_readable().and_then(|()| map.check_writable());
        self.check_lock(flags & !flag::LOCK == 0, flags, both)?;
        each!(self.table(), storage => storage.take(self.attributes(), key, flags))
    }

    /// `BPF_MAP_DELETE_ELEM`: deletes an element.
    pub fn remove(&self, key: &[u8]) -> Result<(), Errno> {
        self.check_key(key)?;
        self.check_writable()?;
        self.delete(key)
    }

    /// `BPF_MAP_GET_NEXT_KEY`: the key after `key`, or the first; `ENOENT` after the last.
    pub fn next_key(&self, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        self.check_readable()?;
        if let Some(key) = key {
            self.check_key(key)?;
        }
        each!(self.table(), storage => storage.next_key(self.attributes(), key))
    }

    fn check_key(&self, key: &[u8]) -> Result<(), Errno> {
        if key.len() == self.attributes().key_size as usize { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Checks in the kernel's order: unknown flags, permission, existence of a lock.
    fn check_lock(
        &self,
        known: bool,
        flags: u64,
        right: impl Fn(&Self) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        if !known {
            return Err(Errno::EINVAL);
        }
        right(self)?;
        let lockless = self.attributes().fields.spin_lock().is_none();
        if flags & flag::LOCK != 0 && lockless { Err(Errno::EINVAL) } else { Ok(()) }
    }

    pub(super) fn check_readable(&self) -> Result<(), Errno> {
        if self.attributes().flags & flag::WRONLY != 0 { Err(Errno::EPERM) } else { Ok(()) }
    }

    fn check_writable(&self) -> Result<(), Errno> {
        let refused = self.is_frozen() || self.attributes().flags & flag::RDONLY != 0;
        if refused { Err(Errno::EPERM) } else { Ok(()) }
    }

    fn error(&self, operation: &'static str) -> impl Fn(Errno) -> MapError {
        move |errno| MapError { map: self.attributes().name.clone(), operation, errno }
    }
}

impl spec::Map for Map {
    type Error = MapError;

    fn key_size(&self) -> usize {
        self.attributes().key_size as usize
    }

    fn value_size(&self) -> usize {
        self.attributes().user_value_size()
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

    /// At most about `max_entries` keys: if other threads change the map meanwhile, keys may occur
    /// twice.
    fn keys(&self) -> Result<Vec<Vec<u8>>, MapError> {
        let most = self.attributes().max_entries as usize;
        let mut keys: Vec<Vec<u8>> = Vec::new();
        while keys.len() < most {
            match self.next_key(keys.last().map(Vec::as_slice)) {
                Ok(key) => keys.push(key),
                Err(Errno::ENOENT) => break,
                Err(errno) => return Err(self.error("next key")(errno)),
            }
        }
        Ok(keys)
    }
}
