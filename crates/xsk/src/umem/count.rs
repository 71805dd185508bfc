//! Decrements the count of handles and frames that keeps a region alive.

use std::ptr::NonNull;

use super::region::Region;
use crate::sync::{Ordering, fence};

/// Returns counted chunks to the depot, at most a magazine.
pub(super) fn bring_home(region: NonNull<Region>, chunks: &[u32]) {
    // SAFETY: alive, because each of `chunks` is still counted; only shared access.
    let shared = unsafe { region.as_ref() };
    shared.depot.put(&shared.chunks, chunks);
    release(region, chunks.len() as u64);
}

/// Subtracts `count`; at zero the region is freed.
pub(super) fn release(region: NonNull<Region>, count: u64) {
    // SAFETY: alive, because `count` is still counted; only shared access.
    let before = unsafe { region.as_ref() }.count.fetch_sub(count, Ordering::Release);
    if before == count {
        fence(Ordering::Acquire);
        // SAFETY: created by `Box::leak` in `new`; the count is zero, so no reference remains.
        drop(unsafe { Box::from_raw(region.as_ptr()) });
    }
}
