//! Why memory was not registered: `XDP_UMEM_REG` has one errno for all causes.

use super::environment::{Attempt, Environment, Kernel};
use crate::limits::{LEAST_FRAME, LEAST_ROOM};

/// `EINVAL`: the rule of the kernel that is violated (`xdp_umem_reg` in net/xdp/xdp_umem.c).
pub(super) fn invalid(environment: &Environment<'_>) -> String {
    let Attempt { wanted, memory, unaligned, tx_metadata, .. } = environment.attempt;
    let (frame, headroom) = (wanted.frame_size, wanted.headroom);
    if !(LEAST_FRAME..=LARGEST).contains(&frame) {
        return format!("a frame has {LEAST_FRAME} to {LARGEST} bytes, not {frame}");
    }
    if !unaligned && !frame.is_power_of_two() {
        return format!(
            "{frame} is not a power of two: use frames of 2048 or 4096 bytes, or unaligned ones"
        );
    }
    if memory < u64::from(frame) {
        return format!("{memory} bytes cannot hold a frame of {frame}");
    }
    if !unaligned && !memory.is_multiple_of(frame.into()) {
        return format!("{memory} bytes are not a multiple of the frame size {frame}");
    }
    if headroom > frame - LEAST_ROOM {
        return format!(
            "a headroom of {headroom} bytes leaves less than {LEAST_ROOM} of a frame of {frame}, \
             which the kernel needs for itself and a packet"
        );
    }
    if tx_metadata >= LARGEST_METADATA || !tx_metadata.is_multiple_of(8) {
        return format!(
            "the space for metadata must be less than {LARGEST_METADATA} bytes and a multiple of \
             8, not {tx_metadata}"
        );
    }
    if tx_metadata > 0 && environment.kernel < METADATA_SINCE {
        let kernel = environment.kernel;
        return format!(
            "transmit metadata requires Linux {METADATA_SINCE}, or 6.8 with its updates; this is \
             {kernel}"
        );
    }
    "the memory must start at a page boundary".to_owned()
}

/// `ENOBUFS`: the limit on locked memory, which applies to all sockets of a user.
pub(super) fn over_the_limit(environment: &Environment<'_>) -> String {
    let needed = kib(environment.attempt.memory);
    let Some(limit) = environment.lockable else {
        return format!(
            "the kernel counts {needed} KiB against a limit on locked memory: grant CAP_IPC_LOCK \
             in the initial user namespace, or use fewer frames"
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

/// Bytes of the largest frame: a page.
const LARGEST: u32 = 4096;
/// Limit of the space for metadata.
const LARGEST_METADATA: u32 = 256;
/// First kernel with `XDP_UMEM_TX_METADATA_LEN`; updates of 6.8 to 6.10 have it, too.
const METADATA_SINCE: Kernel = Kernel(6, 11);
