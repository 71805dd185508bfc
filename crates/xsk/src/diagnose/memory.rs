//! Why memory was not registered: `XDP_UMEM_REG` has one errno for all that can be wrong with it.

use super::facts::{Attempt, Facts, Kernel};
use crate::limits::{LEAST_FRAME, LEAST_ROOM};

/// `EINVAL`: which of the kernel's rules was broken (`xdp_umem_reg` in net/xdp/xdp_umem.c).
pub(super) fn invalid(facts: &Facts<'_>) -> String {
    let Attempt { wanted, memory, unaligned, tx_metadata, .. } = facts.attempt;
    let (frame, headroom) = (wanted.frame_size, wanted.headroom);
    if !(LEAST_FRAME..=LARGEST).contains(&frame) {
        return format!("a frame has {LEAST_FRAME} to {LARGEST} bytes, not {frame}");
    }
    if !unaligned && !frame.is_power_of_two() {
        return format!(
            "{frame} is no power of two: use frames of 2048 or 4096 bytes, or unaligned ones"
        );
    }
    if memory < u64::from(frame) {
        return format!("{memory} bytes hold no frame of {frame}");
    }
    if !unaligned && !memory.is_multiple_of(frame.into()) {
        return format!("{memory} bytes are no whole number of frames of {frame}");
    }
    if headroom > frame - LEAST_ROOM {
        return format!(
            "a headroom of {headroom} bytes leaves less than {LEAST_ROOM} of a frame of {frame}, \
             which the kernel wants for itself and a packet"
        );
    }
    if tx_metadata >= LARGEST_METADATA || !tx_metadata.is_multiple_of(8) {
        return format!(
            "room for metadata is less than {LARGEST_METADATA} bytes and a multiple of 8, \
             not {tx_metadata}"
        );
    }
    if tx_metadata > 0 && facts.kernel < METADATA_SINCE {
        let kernel = facts.kernel;
        return format!(
            "metadata for sending needs Linux {METADATA_SINCE}, or 6.8 with its updates; this is \
             {kernel}"
        );
    }
    "the memory must start at a page's start".to_owned()
}

/// `ENOBUFS`: the limit on locked memory, which counts all sockets of one user.
pub(super) fn over_the_limit(facts: &Facts<'_>) -> String {
    let needed = kib(facts.attempt.memory);
    let Some(limit) = facts.lockable else {
        return format!(
            "the kernel counts {needed} KiB against a limit on locked memory: grant CAP_IPC_LOCK \
             in the machine's first user namespace, or use fewer frames"
        );
    };
    let limit = limit / 1024;
    format!(
        "this memory is {needed} KiB and all AF_XDP sockets of this user together may lock \
         {limit} KiB: raise the limit (`ulimit -l`, LimitMEMLOCK=), grant CAP_IPC_LOCK, or use \
         fewer frames"
    )
}

fn kib(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}

/// A page.
const LARGEST: u32 = 4096;
const LARGEST_METADATA: u32 = 256;
/// Where `XDP_UMEM_TX_METADATA_LEN` came; corrections of 6.8 to 6.10 have it too.
const METADATA_SINCE: Kernel = Kernel(6, 11);
