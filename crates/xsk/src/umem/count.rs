//! The count of handles and frames that keeps a region alive: how it is given up.

use std::ptr::NonNull;

use super::region::Region;
use crate::sync::{Ordering, fence};

/// Chunks go home from owners that each hold one count; at most a magazine.
pub(super) fn bring_home(region: NonNull<Region>, chunks: &[u32]) {
    // SAFETY: alive, because each of `chunks` is still counted; only shared access.
    let shared = unsafe { region.as_ref() };
    shared.depot.put(&shared.chunks, chunks);
    release(region, chunks.len() as u64);
}

/// Gives up `count` of what was counted; the last one frees the region.
pub(super) fn release(region: NonNull<Region>, count: u64) {
    // SAFETY: alive, because `count` is still counted; only shared access.
    let before = unsafe { region.as_ref() }.count.fetch_sub(count, Ordering::Release);
    if before == count {
        fence(Ordering::Acquire);
        // SAFETY: made by `Box::leak` in `new`; nobody counts any more, so nobody has it.
        drop(unsafe { Box::from_raw(region.as_ptr()) });
    }
}
