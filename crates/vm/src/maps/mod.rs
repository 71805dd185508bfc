//! Maps with the kernel's semantics and error numbers, shared by all processors of a machine.
//!
//! Rule: programs and user space see what they would see of the kernel's map of that type. Each
//! type is one file that implements [`Storage`], one variant of [`Table`] and one line in
//! [`Table::create`]. The program side does not allocate and uses no `dyn`. There are two sides: a
//! *program* works on one processor's value in place, by address; *user space* reads and writes
//! copies, for a per-CPU map of all processors together.

/// Calls a method of the storage in a table.
macro_rules! each {
    ($table:expr, $storage:ident => $call:expr) => {
        match $table {
            Table::Array($storage) => $call,
            Table::ProgArray($storage) => $call,
            Table::Devmap($storage) => $call,
            Table::DevmapHash($storage) => $call,
            Table::Cpumap($storage) => $call,
            Table::Xskmap($storage) => $call,
            Table::ArrayOfMaps($storage) => $call,
            Table::HashOfMaps($storage) => $call,
            Table::Queue($storage) => $call,
            Table::Bloom($storage) => $call,
            Table::Ring($storage) => $call,
            Table::PerfEvents($storage) => $call,
            Table::Hash($storage) => $call,
            Table::Lru($storage) => $call,
            Table::Trie($storage) => $call,
            Table::Absent($storage) => $call,
        }
    };
}

mod absent;
mod array;
mod bloom;
mod check;
mod cpumap;
mod devmap;
mod devmap_hash;
mod directory;
mod fields;
#[cfg(test)]
mod fixture;
mod hash;
mod jhash;
mod key_table;
mod map_of_maps;
mod owner;
mod perf_event;
mod prog_array;
mod queue;
mod records;
mod refused;
mod ring_maps;
mod ringbuf;
mod scan;
mod shape;
mod slots;
mod target;
#[cfg(test)]
mod tests;
mod trie;
mod user;
mod values;
mod xskmap;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use spec::{MapDef, MapKind, ProgramKind};

use crate::errno::Errno;
use crate::limits;
use crate::memory::{Layout, RegionId, Slab};
use crate::redirect::Target;

pub(crate) use directory::Directory;
pub use fields::{FieldKind, Fields};
pub(crate) use fields::{Orphan, relax};
pub(crate) use perf_event::PerfEvents;
pub use records::{Record, Records};
pub(crate) use refused::refusal;
pub(crate) use ringbuf::{Next, Place, Ring};
pub use user::MapError;

/// Attributes of a map, fixed at its creation.
#[derive(Clone, Debug)]
pub struct MapAttributes {
    pub name: String,
    /// Position in the machine's list of maps. User space and maps of maps refer to a map by its
    /// id, which is this plus one.
    pub number: u32,
    pub kind: MapKind,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    /// `BPF_F_*` of map creation.
    pub flags: u32,
    pub extra: u64,
    /// Processors of the machine.
    pub cpus: u32,
    /// Special fields of a value, which only helpers may access.
    pub fields: Fields,
    /// Definition of the inner maps of a map of maps.
    pub inner: Option<Box<MapDef>>,
    /// The machine's maps, programs and interfaces, for values that refer to them.
    pub(crate) home: Weak<Directory>,
}

impl MapAttributes {
    /// Bytes of one processor's value in memory: the value, to a multiple of eight.
    pub fn stride(&self) -> u64 {
        u64::from(self.value_size).next_multiple_of(8)
    }

    /// Address of an element's value in a layout.
    pub fn address(&self, layout: &Layout, element: u64) -> u64 {
        RegionId::values_of(self.number).at(layout.offset_of(element))
    }

    /// Number of values of an element: one for each processor if the map is per CPU.
    pub fn copies(&self) -> u32 {
        if self.kind.is_per_cpu() { self.cpus } else { 1 }
    }

    /// Bytes of an element's value in user space, for all processors together.
    pub fn user_value_size(&self) -> usize {
        if self.kind.is_per_cpu() {
            self.stride() as usize * self.cpus as usize
        } else {
            self.value_size as usize
        }
    }

    /// Whether programs may write values (`BPF_F_RDONLY_PROG` is not set).
    pub fn program_writes(&self) -> bool {
        self.flags & flag::RDONLY_PROG == 0
    }

    /// Whether programs may read values (`BPF_F_WRONLY_PROG` is not set).
    pub fn program_reads(&self) -> bool {
        self.flags & flag::WRONLY_PROG == 0
    }
}

/// Flags of map creation and of updates, as in `include/uapi/linux/bpf.h`.
pub mod flag {
    /// Creation: memory for elements is allocated on insertion.
    pub const NO_PREALLOC: u32 = 1 << 0;
    pub const NO_COMMON_LRU: u32 = 1 << 1;
    pub const NUMA_NODE: u32 = 1 << 2;
    /// User space may only read.
    pub const RDONLY: u32 = 1 << 3;
    pub const WRONLY: u32 = 1 << 4;
    pub const ZERO_SEED: u32 = 1 << 6;
    /// Programs may only read.
    pub const RDONLY_PROG: u32 = 1 << 7;
    pub const WRONLY_PROG: u32 = 1 << 8;
    pub const MMAPABLE: u32 = 1 << 10;
    pub const PRESERVE_ELEMS: u32 = 1 << 11;
    pub const INNER_MAP: u32 = 1 << 12;
    /// All flags that restrict reading or writing.
    pub const ACCESS: u32 = RDONLY | WRONLY | RDONLY_PROG | WRONLY_PROG;

    /// Updates.
    pub const ANY: u64 = 0;
    pub const NOEXIST: u64 = 1;
    pub const EXIST: u64 = 2;
    pub const LOCK: u64 = 4;
}

/// Operations of every map type. The defaults are the kernel's results for types that lack the
/// operation.
pub(crate) trait Storage {
    /// Program side: the address of `cpu`'s value, 0 when absent.
    fn lookup(&self, _: &MapAttributes, _cpu: u32, _key: &[u8]) -> u64 {
        UNSERVED
    }

    /// Program side: sets `cpu`'s value.
    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn delete(&self, _: &MapAttributes, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// User side: the value; of all processors if it is per CPU.
    fn read(&self, _: &MapAttributes, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// User side: sets the value; of all processors if it is per CPU.
    fn write(&self, _: &MapAttributes, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// User side: the key after `key`, or the first.
    fn next_key(&self, _: &MapAttributes, _key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// User side: the value, read under its spin lock.
    fn read_locked(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.read(attributes, key)
    }

    /// User side: reads and removes in one step.
    fn take(&self, _: &MapAttributes, _key: &[u8], _flags: u64) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOTSUPP)
    }

    /// Program side: the element at the cursor, which advances. See [`Map::walk`].
    fn walk(&self, _: &MapAttributes, _cpu: u32, _: (&mut Cursor, &mut [u8])) -> Option<u64> {
        None
    }

    /// Copies the key of the element that contains an address.
    fn key_at(&self, _: &MapAttributes, _address: u64, _key: &mut [u8]) -> bool {
        false
    }

    /// The values, if programs can address them.
    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        None
    }

    /// Target of an entry of a redirect map; `None` when absent.
    fn target(&self, _: &MapAttributes, _key: u32) -> Option<Target> {
        None
    }

    /// For broadcasts: the first entry at place `from` or later, and its place. Places are in the
    /// order of keys, except for a devmap hash, whose order is the same in every run.
    fn target_from(&self, _: &MapAttributes, _from: u32) -> Option<(u32, Target)> {
        None
    }

    /// `bpf_map_push_elem`.
    fn push(&self, _: &MapAttributes, _value: &[u8], _flags: u64) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    /// `bpf_map_pop_elem`.
    fn pop(&self, _: &MapAttributes, _into: &mut [u8]) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    /// `bpf_map_peek_elem`.
    fn peek(&self, _: &MapAttributes, _into: &mut [u8]) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    /// Whether a program of that kind may use a map that holds programs.
    fn admit(&self, _: ProgramKind) -> bool {
        true
    }

    /// Number of the program that a tail call to `index` reaches.
    fn program_at(&self, _index: u32) -> Option<usize> {
        None
    }

    /// The ring of a ring buffer map.
    fn ring(&self) -> Option<&Ring> {
        None
    }

    fn perf_events(&self) -> Option<&PerfEvents> {
        None
    }
}

/// Result of a lookup in a type whose elements programs may not look up. It is not an address.
pub(crate) const UNSERVED: u64 = 1;

/// Key, value and flags of an update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
    pub flags: u64,
}

/// Position of a walk over a map; the default is its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// Index or bucket.
    place: u64,
    /// The next node in the bucket, if it is known.
    node: u32,
}

/// Number of elements, up to `max_entries`, for which a map without preallocation may use memory.
fn limited(max_entries: u32, bytes: u64) -> u32 {
    let most = limits::LAZY_BYTES / bytes.max(1);
    u32::try_from(most).map_or(max_entries, |most| most.clamp(1, max_entries.max(1)))
}

/// The storage of each type.
#[derive(Debug)]
pub(crate) enum Table {
    Array(array::Array),
    ProgArray(prog_array::ProgArray),
    Devmap(devmap::Devmap),
    DevmapHash(devmap_hash::DevmapHash),
    Cpumap(cpumap::Cpumap),
    Xskmap(xskmap::Xskmap),
    ArrayOfMaps(map_of_maps::ArrayOfMaps),
    HashOfMaps(map_of_maps::HashOfMaps),
    /// Queues and stacks.
    Queue(queue::Queue),
    Bloom(bloom::Bloom),
    /// Ring buffers in both directions.
    Ring(ring_maps::RingMap),
    PerfEvents(perf_event::PerfEvents),
    Hash(hash::Hash),
    Lru(hash::Lru),
    Trie(trie::Trie),
    Absent(absent::Absent),
}

impl Table {
    fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        match attributes.kind {
            MapKind::ARRAY | MapKind::PERCPU_ARRAY => {
                array::Array::create(attributes).map(Self::Array)
            }
            MapKind::PROG_ARRAY => prog_array::ProgArray::create(attributes).map(Self::ProgArray),
            MapKind::DEVMAP => devmap::Devmap::create(attributes).map(Self::Devmap),
            MapKind::DEVMAP_HASH => {
                devmap_hash::DevmapHash::create(attributes).map(Self::DevmapHash)
            }
            MapKind::CPUMAP => cpumap::Cpumap::create(attributes).map(Self::Cpumap),
            MapKind::XSKMAP => xskmap::Xskmap::create(attributes).map(Self::Xskmap),
            MapKind::ARRAY_OF_MAPS => {
                map_of_maps::ArrayOfMaps::create(attributes).map(Self::ArrayOfMaps)
            }
            MapKind::HASH_OF_MAPS => {
                map_of_maps::HashOfMaps::create(attributes).map(Self::HashOfMaps)
            }
            MapKind::QUEUE | MapKind::STACK => queue::Queue::create(attributes).map(Self::Queue),
            MapKind::BLOOM_FILTER => bloom::Bloom::create(attributes).map(Self::Bloom),
            MapKind::RINGBUF | MapKind::USER_RINGBUF => {
                ring_maps::RingMap::create(attributes).map(Self::Ring)
            }
            MapKind::PERF_EVENT_ARRAY => {
                perf_event::PerfEvents::create(attributes).map(Self::PerfEvents)
            }
            MapKind::HASH | MapKind::PERCPU_HASH => hash::Hash::create(attributes).map(Self::Hash),
            MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH => {
                hash::Lru::create(attributes).map(Self::Lru)
            }
            MapKind::LPM_TRIE => trie::Trie::create(attributes).map(Self::Trie),
            _ => Err(Errno::ENOTSUPP),
        }
    }
}

/// A map.
#[derive(Debug)]
pub struct Map {
    attributes: MapAttributes,
    table: Table,
    frozen: AtomicBool,
}

impl Map {
    /// Creates an empty map; the error number is that of the kernel.
    ///
    /// `home` is the directory of the map, in which programs, maps and interfaces in values are
    /// looked up.
    pub(crate) fn create(
        def: &MapDef,
        number: u32,
        cpus: u32,
        home: &Weak<Directory>,
    ) -> Result<Self, Errno> {
        let mut attributes = MapAttributes {
            name: def.name.clone(),
            number,
            kind: def.kind,
            key_size: def.key_size,
            value_size: def.value_size,
            max_entries: def.max_entries,
            flags: def.flags,
            extra: def.extra,
            cpus,
            fields: home.upgrade().map(|home| home.fields(def)).unwrap_or_default(),
            inner: def.inner.clone(),
            home: Weak::clone(home),
        };
        check::creation(&attributes, def.numa_node.is_some())?;
        attributes.max_entries = hash::rounded_entries(&attributes);
        let table = Table::create(&attributes)?;
        Ok(Self { attributes, table, frozen: AtomicBool::new(false) })
    }

    /// A placeholder for a map that was not created, with the reason.
    pub(crate) fn absent(
        def: &MapDef,
        number: u32,
        cpus: u32,
        (home, why): (&Weak<Directory>, String),
    ) -> Self {
        let attributes = MapAttributes {
            name: def.name.clone(),
            number,
            kind: def.kind,
            key_size: 0,
            value_size: 0,
            max_entries: 0,
            flags: 0,
            extra: 0,
            cpus,
            fields: Fields::default(),
            inner: None,
            home: Weak::clone(home),
        };
        let table = Table::Absent(absent::Absent { why });
        Self { attributes, table, frozen: AtomicBool::new(false) }
    }

    /// Why the map was not created; `None` for one that was.
    pub fn why_absent(&self) -> Option<&str> {
        match &self.table {
            Table::Absent(absent) => Some(&absent.why),
            _ => None,
        }
    }

    /// The attributes of the map.
    pub fn attributes(&self) -> &MapAttributes {
        &self.attributes
    }

    /// Makes the map read-only for user space.
    pub fn freeze(&self) {
        self.frozen.store(true, Relaxed);
    }

    /// Whether user space may only read.
    pub fn is_frozen(&self) -> bool {
        self.frozen.load(Relaxed)
    }

    /// Program side: the address of `cpu`'s value, 0 when absent.
    #[inline]
    pub(crate) fn lookup(&self, cpu: u32, key: &[u8]) -> u64 {
        each!(&self.table, storage => storage.lookup(&self.attributes, cpu, key))
    }

    /// Program side: a step of a walk over all elements. Copies the key into `key`, which has the
    /// length of the map's keys, and returns the address of `cpu`'s value; `None` after the last.
    ///
    /// The key is a copy because programs may not write it: the caller lends its own memory. The
    /// element just returned may be deleted; elements that are added or deleted meanwhile may or
    /// may not be visited.
    pub(crate) fn walk(&self, cpu: u32, cursor: &mut Cursor, key: &mut [u8]) -> Option<u64> {
        each!(&self.table, storage => storage.walk(&self.attributes, cpu, (cursor, key)))
    }

    /// Whether programs may set and delete elements of a map of this type.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        // Hashes and arrays, each also per CPU; LRU hashes, also per CPU; prefix tries.
        const PLAIN: u64 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11;
        PLAIN >> self.attributes.kind.0 & 1 != 0
    }

    /// Copies the key of the element whose value contains `address` and returns the address of that
    /// value. `None` for types whose values have no addresses.
    pub(crate) fn key_at(&self, address: u64, key: &mut [u8]) -> Option<u64> {
        let (_, layout) = each!(&self.table, storage => storage.values())?;
        let known = each!(&self.table, storage => storage.key_at(&self.attributes, address, key));
        known.then(|| address & !((1 << layout.shift) - 1))
    }

    /// Whether programs may walk a map of this type.
    pub(crate) fn is_walkable(&self) -> bool {
        let kinds = [MapKind::ARRAY, MapKind::HASH, MapKind::LRU_HASH];
        let per_cpu = [MapKind::PERCPU_ARRAY, MapKind::PERCPU_HASH, MapKind::LRU_PERCPU_HASH];
        kinds.contains(&self.attributes.kind) || per_cpu.contains(&self.attributes.kind)
    }

    pub(crate) fn update(&self, cpu: u32, at: Entry<'_>) -> Result<(), Errno> {
        each!(&self.table, storage => storage.update(&self.attributes, cpu, at))
    }

    pub(crate) fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        each!(&self.table, storage => storage.delete(&self.attributes, key))
    }

    /// Target of an entry of a redirect map.
    pub(crate) fn target(&self, key: u32) -> Option<Target> {
        each!(&self.table, storage => storage.target(&self.attributes, key))
    }

    /// The first entry of a redirect map at place `from` or later, and its place.
    pub(crate) fn target_from(&self, from: u32) -> Option<(u32, Target)> {
        each!(&self.table, storage => storage.target_from(&self.attributes, from))
    }

    pub(crate) fn push(&self, value: &[u8], flags: u64) -> Result<(), Errno> {
        each!(&self.table, storage => storage.push(&self.attributes, value, flags))
    }

    pub(crate) fn pop(&self, into: &mut [u8]) -> Result<(), Errno> {
        each!(&self.table, storage => storage.pop(&self.attributes, into))
    }

    pub(crate) fn peek(&self, into: &mut [u8]) -> Result<(), Errno> {
        each!(&self.table, storage => storage.peek(&self.attributes, into))
    }

    /// The memory region of this map's values.
    pub(crate) fn values(&self) -> Option<(Arc<Slab>, Layout)> {
        let (slab, layout) = each!(&self.table, storage => storage.values())?;
        let (readable, writable) =
            (self.attributes.program_reads(), self.attributes.program_writes());
        let writable = layout.writable && writable;
        Some((Arc::clone(slab), Layout { readable, writable, ..layout }))
    }

    /// Whether a program of that kind may use this map. A map of programs binds itself to the first
    /// kind.
    pub(crate) fn admit(&self, kind: ProgramKind) -> bool {
        each!(&self.table, storage => storage.admit(kind))
    }

    /// The ring of a ring buffer map.
    pub(crate) fn ring(&self) -> Option<&Ring> {
        each!(&self.table, storage => storage.ring())
    }

    pub(crate) fn perf_events(&self) -> Option<&PerfEvents> {
        each!(&self.table, storage => storage.perf_events())
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }
}
