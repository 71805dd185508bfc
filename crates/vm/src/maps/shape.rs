//! Checks of sizes and flags that the creation of several types shares.

use super::{MapAttributes, flag};
use crate::errno::Errno;

impl MapAttributes {
    /// `EINVAL` unless key and value have sizes that the type accepts, there is at least one
    /// element, and only `allowed` flags are set.
    pub(super) fn check_shape(&self, key: u32, values: &[u32], allowed: u32) -> Result<(), Errno> {
        let sizes = self.key_size == key && values.contains(&self.value_size);
        let refused = !sizes || self.max_entries == 0 || self.flags & !allowed != 0;
        if refused { Err(Errno::EINVAL) } else { self.check_access() }
    }

    /// Like [`MapAttributes::check_shape`], for types without keys whose values have any size.
    pub(super) fn check_keyless(&self, allowed: u32) -> Result<(), Errno> {
        self.check_shape(0, &[self.value_size.max(1)], allowed)?;
        if self.value_size > LARGEST_VALUE { Err(Errno::E2BIG) } else { Ok(()) }
    }

    /// `EINVAL` if a side may neither read nor write.
    pub(super) fn check_access(&self) -> Result<(), Errno> {
        let both = |pair: u32| self.flags & pair == pair;
        let refused =
            both(flag::RDONLY | flag::WRONLY) || both(flag::RDONLY_PROG | flag::WRONLY_PROG);
        if refused { Err(Errno::EINVAL) } else { Ok(()) }
    }
}

/// The kernel's `KMALLOC_MAX_SIZE`: longer values cannot be copied.
pub(super) const LARGEST_VALUE: u32 = 4 << 20;
