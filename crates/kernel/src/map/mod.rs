//! Live maps: open, read, write, pin.
//!
//! Rule: the kernel's `ENOENT` is an answer ("absent"), everything else an error that names the
//! map. Not here: creation from a `Spec` (`load`), ring buffers (`ringbuf`).

mod batch;
mod percpu;
mod pin;
mod value;

pub use batch::Element;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use spec::{Expect, MapKind};
use sys::bpf::uapi::update_flag;
use sys::bpf::{self, MapCreate, MapInfo};
use sys::mmap::{self, Mapping};

use crate::error::{Error, Result, named};
use crate::memlock;

pub use percpu::PerCpu;

/// An open map. The map exists as long as this handle, a program or a pin refers to it.
#[derive(Debug)]
pub struct Map {
    raw: bpf::Map,
    info: MapInfo,
    /// As the object calls it, which may be longer than the kernel's name.
    name: String,
}

impl Map {
    /// Makes a map without BTF from numbers alone.
    ///
    /// # Errors
    /// [`Error::Denied`] names the capability that is missing.
    pub fn create(create: &MapCreate<'_>) -> Result<Self> {
        let raw = memlock::with_room(|| bpf::Map::create(create)).map_err(Error::from_call)?;
        Self::new(raw, create.name)
    }

    /// Needs `CAP_SYS_ADMIN`.
    pub fn from_id(id: u32) -> Result<Self> {
        let fd = bpf::fd_by_id(bpf::Kind::Map, id).map_err(Error::from_call)?;
        Self::from_fd(fd)
    }

    /// Takes over a descriptor, which must be of a map.
    pub fn from_fd(fd: OwnedFd) -> Result<Self> {
        let raw = bpf::Map::from_fd(fd).map_err(Error::from_call)?;
        Self::new(raw, "")
    }

    /// A second handle on the same map.
    pub fn duplicate(&self) -> Result<Self> {
        let raw = self.raw.duplicate().map_err(named(&self.name))?;
        Ok(Self { raw, info: self.info.clone(), name: self.name.clone() })
    }

    /// Name in the object, or that of the kernel for an opened map.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Map id of the kernel.
    pub fn id(&self) -> u32 {
        self.info.id
    }

    /// Type of the map.
    pub fn kind(&self) -> MapKind {
        MapKind(self.info.kind)
    }

    /// Number of elements that the map can hold.
    pub fn max_entries(&self) -> u32 {
        self.info.max_entries
    }

    /// As the kernel reported when the map was opened. The value size is that of one CPU.
    pub fn info(&self) -> &MapInfo {
        &self.info
    }

    /// Makes the map permanently read-only for system calls; programs can still write.
    pub fn freeze(&self) -> Result<()> {
        self.raw.freeze().map_err(named(&self.name))
    }

    /// The values of an array as memory that programs see change: made with `BPF_F_MMAPABLE`, each
    /// value takes a multiple of eight bytes. Frozen maps can only be read. Linux 5.5.
    pub fn mapping(&self, writable: bool) -> Result<Mapping> {
        let value = self.raw.value_size().next_multiple_of(8);
        let len = (value * self.max_entries() as usize).next_multiple_of(mmap::page_size());
        Mapping::new(self.as_fd(), 0, len, writable).map_err(named(&self.name))
    }

    /// Reads and removes in one step: queues and stacks, and hashes since Linux 5.14.
    pub fn take(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check(key, None)?;
        let mut value = vec![0; self.raw.value_size()];
        let found = self.raw.take(key, &mut value).map_err(named(&self.name))?;
        Ok(found.then_some(value))
    }

    /// Under the name that an object gives it.
    pub(crate) fn renamed(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    pub(crate) fn new(raw: bpf::Map, name: &str) -> Result<Self> {
        let info = bpf::map_info(raw.as_fd()).map_err(named(name))?;
        let name = if name.is_empty() { info.name.clone() } else { name.to_owned() };
        Ok(Self { raw, info, name })
    }

    fn check(&self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let wrong = |what, given: usize, wanted: usize| {
            Err(Error::WrongSize { map: self.name.clone(), what, given, wanted })
        };
        if key.len() != self.raw.key_size() {
            return wrong("key", key.len(), self.raw.key_size());
        }
        match value {
            Some(value) if value.len() != self.raw.value_size() => {
                wrong("value", value.len(), self.raw.value_size())
            }
            _ => Ok(()),
        }
    }
}

impl spec::Map for Map {
    type Error = Error;

    fn key_size(&self) -> usize {
        self.raw.key_size()
    }

    fn value_size(&self) -> usize {
        self.raw.value_size()
    }

    fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check(key, None)?;
        let mut value = vec![0; self.raw.value_size()];
        let found = self.raw.lookup(key, &mut value, 0).map_err(named(&self.name))?;
        Ok(found.then_some(value))
    }

    fn array(&self) -> Result<Vec<Vec<u8>>> {
        let mut elements = self.entries()?;
        elements.sort_by_key(|(key, _)| key.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)));
        Ok(elements.into_iter().map(|(_, value)| value).collect())
    }

    fn array_part(&self, first: u32, count: u32) -> Result<Vec<Vec<u8>>> {
        self.part(first, count)
    }

    fn update_array(&self, first: u32, values: &[Vec<u8>]) -> Result<()> {
        let indices = first..;
        let elements: Vec<_> = indices
            .zip(values)
            .map(|(index, value)| (index.to_ne_bytes().to_vec(), value.clone()))
            .collect();
        self.update_all(&elements, Expect::Any)
    }

    fn update(&self, key: &[u8], value: &[u8], expect: Expect) -> Result<()> {
        self.check(key, Some(value))?;
        let flags = flags_of(expect);
        self.raw.update(key, value, flags).map_err(named(&self.name))
    }

    fn delete(&self, key: &[u8]) -> Result<bool> {
        self.check(key, None)?;
        self.raw.delete(key).map_err(named(&self.name))
    }

    /// Bounded by `max_entries`: entries that others delete during the walk make the kernel start
    /// over, so a key may then come twice.
    fn keys(&self) -> Result<Vec<Vec<u8>>> {
        if ARRAYS.contains(&self.kind()) {
            // All of their elements exist, and the kernel would return one with each call.
            return Ok((0..self.info.max_entries)
                .map(|index| index.to_ne_bytes().into())
                .collect());
        }
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut next = vec![0; self.raw.key_size()];
        while keys.len() < self.info.max_entries as usize
            && self
                .raw
                .next_key(keys.last().map(Vec::as_slice), &mut next)
                .map_err(named(&self.name))?
        {
            keys.push(next.clone());
        }
        Ok(keys)
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.as_fd()
    }
}

/// Kinds whose elements all exist.
const ARRAYS: [MapKind; 2] = [MapKind::ARRAY, MapKind::PERCPU_ARRAY];

fn flags_of(expect: Expect) -> u64 {
    match expect {
        Expect::Any => update_flag::ANY,
        Expect::Absent => update_flag::NO_EXIST,
        Expect::Present => update_flag::EXIST,
    }
}
