//! The kernel's checks of a map's numbers before creation: `map_create` in `kernel/bpf/syscall.c`
//! and each type's `map_alloc_check`, in their order.

use spec::MapKind;

use super::{FieldKind, MapAttributes, flag};
use crate::errno::Errno;

/// Checks the attributes of a new map; `numa` is whether a memory node is requested.
///
/// Types that are not in this file check their own numbers when they are created.
pub(super) fn creation(attributes: &MapAttributes, numa: bool) -> Result<(), Errno> {
    let extra = matches!(attributes.kind, MapKind::BLOOM_FILTER | MapKind::ARENA);
    require(extra || attributes.extra == 0, Errno::EINVAL)?;
    require(attributes.flags & BOTH_USER != BOTH_USER, Errno::EINVAL)?;
    let numa = numa || attributes.flags & flag::NUMA_NODE != 0;
    match attributes.kind {
        MapKind::ARRAY | MapKind::PERCPU_ARRAY => array(attributes, numa)?,
        MapKind::HASH | MapKind::PERCPU_HASH | MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH => {
            hash(attributes, numa)?
        }
        MapKind::LPM_TRIE => trie(attributes)?,
        _ => {}
    }
    fields(attributes)
}

fn array(attributes: &MapAttributes, numa: bool) -> Result<(), Errno> {
    let per_cpu = attributes.kind.is_per_cpu();
    let sizes =
        attributes.max_entries != 0 && attributes.key_size == 4 && attributes.value_size != 0;
    require(sizes && !(per_cpu && numa), Errno::EINVAL)?;
    let only_plain = if per_cpu { 0 } else { flag::MMAPABLE | flag::INNER_MAP };
    known_flags(attributes, flag::NUMA_NODE | only_plain)?;
    require(attributes.value_size <= i32::MAX as u32, Errno::E2BIG)?;
    per_cpu_size(attributes)
}

fn hash(attributes: &MapAttributes, numa: bool) -> Result<(), Errno> {
    let lru = matches!(attributes.kind, MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH);
    let own_lists = attributes.flags & flag::NO_COMMON_LRU != 0;
    known_flags(
        attributes,
        flag::NO_PREALLOC | flag::NO_COMMON_LRU | flag::NUMA_NODE | flag::ZERO_SEED,
    )?;
    require(lru || !own_lists, Errno::EINVAL)?;
    require(!lru || attributes.flags & flag::NO_PREALLOC == 0, Errno::ENOTSUPP)?;
    require(!(numa && (attributes.kind.is_per_cpu() || own_lists)), Errno::EINVAL)?;
    let sizes =
        attributes.max_entries != 0 && attributes.key_size != 0 && attributes.value_size != 0;
    require(sizes, Errno::EINVAL)?;
    let together = u64::from(attributes.key_size) + u64::from(attributes.value_size);
    require(together < KMALLOC_BYTES - HASH_HEAD_BYTES, Errno::E2BIG)?;
    per_cpu_size(attributes)?;
    require(attributes.max_entries <= HASH_ENTRIES, Errno::E2BIG)
}

fn trie(attributes: &MapAttributes) -> Result<(), Errno> {
    require(attributes.flags & flag::NO_PREALLOC != 0, Errno::EINVAL)?;
    known_flags(attributes, flag::NO_PREALLOC | flag::NUMA_NODE)?;
    let most = KMALLOC_BYTES - TRIE_DATA_BYTES - TRIE_HEAD_BYTES;
    let key =
        (PREFIX_BYTES + 1..=PREFIX_BYTES + TRIE_DATA_BYTES).contains(&attributes.key_size.into());
    let value = (1..=most).contains(&attributes.value_size.into());
    require(attributes.max_entries != 0 && key && value, Errno::EINVAL)
}

/// Checks that the type may hold its special fields: `map_check_btf`.
fn fields(attributes: &MapAttributes) -> Result<(), Errno> {
    if attributes.fields.is_empty() {
        return Ok(());
    }
    let program_flags = attributes.flags & (flag::RDONLY_PROG | flag::WRONLY_PROG);
    require(program_flags == 0, Errno::EACCES)?;
    let plain = matches!(attributes.kind, MapKind::HASH | MapKind::ARRAY);
    let lru = attributes.kind == MapKind::LRU_HASH;
    let per_cpu = attributes.kind.is_per_cpu();
    for field in attributes.fields.iter() {
        let allowed = match field.kind {
            FieldKind::SpinLock | FieldKind::ResSpinLock => plain,
            FieldKind::Timer | FieldKind::Workqueue => plain || lru,
            FieldKind::ListHead | FieldKind::RbRoot => plain || lru,
            FieldKind::Kptr { .. } | FieldKind::PercpuKptr => plain || lru || per_cpu,
            FieldKind::Refcount | FieldKind::ListNode | FieldKind::RbNode => plain || lru,
        };
        require(allowed, Errno::EOPNOTSUPP)?;
    }
    Ok(())
}

/// Refuses flags other than `own` and those that every type accepts.
fn known_flags(attributes: &MapAttributes, own: u32) -> Result<(), Errno> {
    let access = BOTH_USER | BOTH_PROGRAM;
    let known = attributes.flags & !(own | access) == 0;
    require(known && attributes.flags & BOTH_PROGRAM != BOTH_PROGRAM, Errno::EINVAL)
}

fn per_cpu_size(attributes: &MapAttributes) -> Result<(), Errno> {
    require(!attributes.kind.is_per_cpu() || attributes.stride() <= PER_CPU_BYTES, Errno::E2BIG)
}

fn require(holds: bool, errno: Errno) -> Result<(), Errno> {
    if holds { Ok(()) } else { Err(errno) }
}

const BOTH_USER: u32 = flag::RDONLY | flag::WRONLY;
const BOTH_PROGRAM: u32 = flag::RDONLY_PROG | flag::WRONLY_PROG;
/// The kernel's `KMALLOC_MAX_SIZE` on x86-64.
const KMALLOC_BYTES: u64 = 4 << 20;
/// `sizeof(struct htab_elem)` on x86-64.
const HASH_HEAD_BYTES: u64 = 48;
/// `PCPU_MIN_UNIT_SIZE`.
const PER_CPU_BYTES: u64 = 32 << 10;
/// More would need over 4 GiB of buckets, 16 bytes each.
const HASH_ENTRIES: u32 = 1 << 27;
/// `LPM_DATA_SIZE_MAX`.
const TRIE_DATA_BYTES: u64 = 256;
/// `sizeof(struct lpm_trie_node)`.
const TRIE_HEAD_BYTES: u64 = 24;
/// Bytes of the prefix length before a key.
const PREFIX_BYTES: u64 = 4;
