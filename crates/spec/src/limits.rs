//! Upper limits of sizes in an object, so that a damaged size never causes a huge allocation.

/// Bytes of one data section (`.bss` costs nothing in the file). More belongs in a map.
pub(crate) const MAX_DATA: u64 = 64 << 20;
/// Slots of one program with all its functions: the kernel's own limit.
pub(crate) const MAX_SLOTS: usize = 1_000_000;
/// Slots of all programs together.
pub(crate) const MAX_SLOTS_TOTAL: usize = 8_000_000;
/// Maps within maps: the kernel allows one level.
pub(crate) const MAX_MAP_DEPTH: usize = 2;
