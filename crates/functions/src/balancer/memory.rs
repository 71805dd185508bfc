//! The memory of flows, as user space reads it.

use super::abi::{self, Cells, Kind};

/// `BALANCER_TIME_MASK`.
const TIME: u64 = 0x3fff;
/// `BALANCER_TIME_SHIFT`.
const TIME_SHIFT: u32 = 31;
/// Lines of cells for this number of flows, rounded up to a power of two. Half of the cells remain
/// free, so that a line is hardly ever full.
pub(super) fn lines(flows: u32) -> u32 {
    flows.saturating_mul(2).div_ceil(WAYS).clamp(1, MOST_LINES).next_power_of_two()
}

/// A flow that a cell remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    pub slot: u16,
    /// Number of the backend.
    pub backend: u16,
    pub kind: Kind,
    /// When it was last used, before now, in units of 2^31 nanoseconds.
    pub age: u16,
}

/// What the cells of a line remember; `now` is the monotonic clock in nanoseconds.
pub(super) fn remembered(bytes: &[u8], now: u64) -> impl Iterator<Item = Remembered> {
    let line = bytes.first_chunk().map_or_else(Cells::default, Cells::from_bytes);
    let now = now >> TIME_SHIFT;
    line.cells.into_iter().filter(|cell| *cell != 0).map(move |cell| Remembered {
        slot: (cell >> 48) as u16,
        backend: (cell >> 16) as u16,
        kind: match cell >> 14 & 3 {
            0 => Kind::Note,
            1 => Kind::Flow,
            2 => Kind::Datagrams,
            _ => Kind::Young,
        },
        age: (now.wrapping_sub(cell) & TIME) as u16,
    })
}

/// `BALANCER_WAYS`.
const WAYS: u32 = abi::Cells::SIZE as u32 / 8;
/// 256 MiB of cells.
const MOST_LINES: u32 = 1 << 22;
