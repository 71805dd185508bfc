//! Maps: creation and access to single elements.
//!
//! Rule: the kernel copies the number of bytes that the *map* declares, regardless of the slice. So
//! a [`Map`] knows its sizes, read from the kernel if it did not create the map itself, and
//! compares every slice with them first.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::bpf::attr::{self, Command, ElemAttr, MapCreateAttr, WordsAttr, call, call_fd, raw};
use crate::bpf::uapi::{map_flag, map_type};
use crate::bpf::{Kind, info, pin};
use crate::{Error, Result, cpu};

/// What `MAP_CREATE` takes. Zero and `None` mean "not given".
#[derive(Clone, Copy, Debug, Default)]
pub struct MapCreate<'a> {
    /// Name, truncated to 15 bytes.
    pub name: &'a str,
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// Size of a key in bytes.
    pub key_size: u32,
    /// Size of a value in bytes.
    pub value_size: u32,
    /// Number of elements, or bytes of a ring buffer.
    pub max_entries: u32,
    /// `BPF_F_*` flags.
    pub flags: u32,
    /// `map_extra`: the meaning depends on the map's type.
    pub extra: u64,
    /// Template of the inner maps of a map of maps.
    pub inner: Option<BorrowedFd<'a>>,
    /// NUMA node for the memory.
    pub numa_node: Option<u32>,
    /// Device that holds the map (hardware offload).
    pub ifindex: u32,
    /// Types of key and value.
    pub btf: Option<BorrowedFd<'a>>,
    /// Type id of the key.
    pub key_type: u32,
    /// Type id of the value.
    pub value_type: u32,
}

/// An open map and the sizes of what it copies in and out.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    key_size: usize,
    value_size: usize,
}

impl Map {
    /// Needs `CAP_BPF` for most kinds.
    pub fn create(create: &MapCreate<'_>) -> Result<Self> {
        let mut attr = MapCreateAttr {
            map_type: create.kind,
            key_size: create.key_size,
            value_size: create.value_size,
            max_entries: create.max_entries,
            map_flags: create.flags,
            inner_map_fd: raw(create.inner),
            map_name: attr::name(create.name),
            map_ifindex: create.ifindex,
            btf_fd: raw(create.btf),
            btf_key_type_id: create.key_type,
            btf_value_type_id: create.value_type,
            map_extra: create.extra,
            ..Default::default()
        };
        if let Some(node) = create.numa_node {
            attr.map_flags |= map_flag::NUMA_NODE;
            attr.numa_node = node;
        }
        // SAFETY: this attribute holds no pointers, and the returned descriptor is new.
        let fd = unsafe { call_fd(Command::MapCreate, &mut attr) }
            .map_err(|error| Error { object: create.name.to_owned(), ..error })?;
        Self::with_shape(fd, create.kind, create.key_size, create.value_size)
    }

    /// Takes ownership of a map descriptor and reads its sizes from the kernel.
    pub fn from_fd(fd: OwnedFd) -> Result<Self> {
        let info = info::map_info(fd.as_fd())?;
        Self::with_shape(fd, info.kind, info.key_size, info.value_size)
    }

    /// A second descriptor for the same map.
    pub fn duplicate(&self) -> Result<Self> {
        let fd = self
            .fd
            .try_clone()
            .map_err(|error| Error::from_io("fcntl(F_DUPFD_CLOEXEC)", "", &error))?;
        Ok(Self { fd, ..*self })
    }

    /// Opens a pinned map; `EINVAL` when the pin is not a map.
    pub fn open_pin(path: &str) -> Result<Self> {
        Self::of_pin(pin::open_pin(path)?, path)
    }

    /// As [`open_pin`](Self::open_pin), for reading alone: the kernel refuses changes (`EPERM`).
    pub fn open_pin_read_only(path: &str) -> Result<Self> {
        Self::of_pin(pin::open_pin_read_only(path)?, path)
    }

    fn of_pin(fd: OwnedFd, path: &str) -> Result<Self> {
        match pin::obj_kind(fd.as_fd())? {
            Some(Kind::Map) => Self::from_fd(fd),
            _ => Err(Error::new("bpf(OBJ_GET)", path, libc::EINVAL).with_detail("not a map")),
        }
    }

    /// Size of a key in bytes.
    pub fn key_size(&self) -> usize {
        self.key_size
    }

    /// Bytes of a whole value: for a per-CPU map those of all possible CPUs.
    pub fn value_size(&self) -> usize {
        self.value_size
    }

    /// Writes the value into `value`; `false` when the key is absent.
    pub fn lookup(&self, key: &[u8], value: &mut [u8], flags: u64) -> Result<bool> {
        self.check(key, Some(value))?;
        let mut attr = self.element(key, attr::pointer_mut(value), flags);
        // SAFETY: key and value are as long as this map copies (`check`).
        present(unsafe { call(Command::MapLookup, &mut attr) })
    }

    /// Reads and removes in one step: queue, stack, and hash maps since Linux 5.14.
    pub fn take(&self, key: &[u8], value: &mut [u8]) -> Result<bool> {
        self.check(key, Some(value))?;
        let mut attr = self.element(key, attr::pointer_mut(value), 0);
        // SAFETY: key and value are as long as this map copies (`check`).
        present(unsafe { call(Command::MapTake, &mut attr) })
    }

    /// `flags` as in [`uapi::update_flag`](crate::bpf::uapi::update_flag).
    pub fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<()> {
        self.check(key, Some(value))?;
        let mut attr = self.element(key, attr::pointer(value), flags);
        // SAFETY: key and value are as long as this map copies (`check`); both are only read.
        unsafe { call(Command::MapUpdate, &mut attr) }.map(drop)
    }

    /// `false` when the key is absent.
    pub fn delete(&self, key: &[u8]) -> Result<bool> {
        self.check(key, None)?;
        let mut attr = self.element(key, 0, 0);
        // SAFETY: the key is as long as this map reads (`check`).
        present(unsafe { call(Command::MapDelete, &mut attr) })
    }

    /// Writes the key after `key` (the first for `None`) into `next`; `false` at the end.
    pub fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<bool> {
        self.check(key.unwrap_or(next), None)?;
        self.check(next, None)?;
        let mut attr = self.element(key.unwrap_or(&[]), attr::pointer_mut(next), 0);
        // SAFETY: both keys are as long as this map copies (`check`), or the first is absent.
        present(unsafe { call(Command::MapNextKey, &mut attr) })
    }

    /// From now on user space can only read. Linux 5.2.
    pub fn freeze(&self) -> Result<()> {
        let mut attr = WordsAttr { first: self.raw(), ..Default::default() };
        // SAFETY: this attribute holds no pointers.
        unsafe { call(Command::MapFreeze, &mut attr) }.map(drop)
    }

    pub(super) fn raw(&self) -> u32 {
        raw(Some(self.fd.as_fd()))
    }

    fn with_shape(fd: OwnedFd, kind: u32, key_size: u32, value_size: u32) -> Result<Self> {
        let value = value_size as usize;
        let value_size = match kind {
            map_type::PERCPU_HASH
            | map_type::PERCPU_ARRAY
            | map_type::LRU_PERCPU_HASH
            | map_type::PERCPU_CGROUP_STORAGE => {
                value.next_multiple_of(8).saturating_mul(cpu::possible()?)
            }
            _ => value,
        };
        Ok(Self { fd, key_size: key_size as usize, value_size })
    }

    fn check(&self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let wrong = |what, given: usize, wanted: usize| {
            let detail = format!("{what} of {given} bytes, the map has {wanted}");
            Err(Error::new("bpf(MAP_*_ELEM)", "", libc::EINVAL).with_detail(detail))
        };
        if key.len() != self.key_size {
            return wrong("key", key.len(), self.key_size);
        }
        match value {
            Some(value) if value.len() != self.value_size => {
                wrong("value", value.len(), self.value_size)
            }
            _ => Ok(()),
        }
    }

    fn element(&self, key: &[u8], value: u64, flags: u64) -> ElemAttr {
        ElemAttr { map_fd: self.raw(), key: attr::pointer(key), value, flags, ..Default::default() }
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn present(answer: Result<i32>) -> Result<bool> {
    match answer {
        Ok(_) => Ok(true),
        Err(error) if error.is(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}
