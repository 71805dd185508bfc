//! The memory of flows, as user space reads it.

use spec::Map;

use super::abi::{self, Cells, Kind};

/// `BALANCER_TIME_MASK`.
const TIME: u64 = 0x3fff;
/// `BALANCER_TIME_SHIFT`, and that of notes.
const TIME_SHIFT: u32 = 31;
const NOTE_SHIFT: u32 = 23;
/// Lines of cells for this number of flows, rounded up to a power of two. Half of the cells remain
/// free, so that a line is hardly ever full.
pub(super) fn lines(flows: u32) -> u32 {
    flows.saturating_mul(2).div_ceil(WAYS).clamp(1, MOST_LINES).next_power_of_two()
}

/// A flow that a cell remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Upper half of the hash of the flow; its upper half is the slot.
    pub tag: u32,
    pub slot: u16,
    /// Number of the backend.
    pub backend: u16,
    pub kind: Kind,
    /// When it was last used, before now, in units of 2^31 nanoseconds; of a note 2^23.
    pub age: u16,
}

/// What the cells of a line remember; `now` is the monotonic clock in nanoseconds.
pub(super) fn remembered(bytes: &[u8], now: u64) -> impl Iterator<Item = Remembered> {
    let line = bytes.first_chunk().map_or_else(Cells::default, Cells::from_bytes);
    line.cells.into_iter().filter(|cell| *cell != 0).map(move |cell| {
        let kind = match cell >> 14 & 3 {
            0 => Kind::Note,
            1 => Kind::Flow,
            2 => Kind::Datagrams,
            _ => Kind::Young,
        };
        let now = now >> if kind == Kind::Note { NOTE_SHIFT } else { TIME_SHIFT };
        Remembered {
            tag: (cell >> 32) as u32,
            slot: (cell >> 48) as u16,
            backend: (cell >> 16) as u16,
            kind,
            age: (now.wrapping_sub(cell) & TIME) as u16,
        }
    })
}

/// What is remembered in the line of cells that a hash selects; `now` is the monotonic clock in
/// nanoseconds.
///
/// # Errors
/// The map's own.
pub(super) fn of_hash<M: Map>(map: &M, hash: u64, now: u64) -> Result<Vec<Remembered>, M::Error> {
    let mut lines = 1;
    while lines < MOST_LINES && map.lookup(&(2 * lines - 1).to_le_bytes())?.is_some() {
        lines *= 2;
    }
    let line = map.lookup(&(hash as u32 & (lines - 1)).to_le_bytes())?.unwrap_or_default();
    Ok(remembered(&line, now).collect())
}

/// By kind, the global `balancer_life`: how long cells are kept, in the units of their ages.
pub(super) fn lifetimes(bytes: &[u8]) -> [u32; 4] {
    let word = |n: usize| bytes.get(4 * n..).and_then(|rest| rest.first_chunk());
    std::array::from_fn(|n| word(n).map_or(0, |bytes| u32::from_le_bytes(*bytes)))
}

/// `BALANCER_WAYS`.
const WAYS: u32 = abi::Cells::SIZE as u32 / 8;
/// 256 MiB of cells.
const MOST_LINES: u32 = 1 << 22;
