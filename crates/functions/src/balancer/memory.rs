//! The memory of flows, as user space reads it.

use spec::Map;

use super::abi::{self, Cells, Kind};

/// The monotonic clock in units of notes, the finest of cells: 2^23 nanoseconds.
#[must_use]
pub const fn now_units(nanoseconds: u64) -> u64 {
    nanoseconds >> (TIME_SHIFT - NOTE_BITS)
}

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

/// What a cell has, apart from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Upper 32 bits of the hash; mixed with the sequence number in a note.
    pub tag: u32,
    pub backend: u16,
    pub kind: u8,
    /// Units since it was used: 2^31 nanoseconds, of a note 2^23.
    pub age: u16,
}

impl Flow {
    /// The content of a cell; `None` for one that is not in use. `now` is of [`now_units`].
    #[must_use]
    pub const fn of(cell: u64, now: u64) -> Option<Self> {
        if cell == 0 {
            return None;
        }
        let kind = (cell >> 14 & 3) as u8;
        Some(Self {
            tag: (cell >> 32) as u32,
            backend: (cell >> 16) as u16,
            kind,
            age: (time(kind, now).wrapping_sub(cell) & TIME) as u16,
        })
    }

    #[must_use]
    pub const fn cell(self, now: u64) -> u64 {
        let time = time(self.kind, now).wrapping_sub(self.age as u64) & TIME;
        (self.tag as u64) << 32 | (self.backend as u64) << 16 | (self.kind as u64) << 14 | time
    }

    /// The slot of its hash; meaningless for a note.
    #[must_use]
    pub const fn slot(self) -> u16 {
        (self.tag >> 16) as u16
    }

    /// Whether the program would not use it any more.
    #[must_use]
    pub const fn is_old(self) -> bool {
        self.age as u32 > LIFE[self.kind as usize & 3]
    }

    pub(super) const fn is_connection(self) -> bool {
        self.kind & FLOW == FLOW
    }
}

/// What the cells of a line remember; `now` is the monotonic clock in nanoseconds.
pub(super) fn remembered(bytes: &[u8], now: u64) -> impl Iterator<Item = Remembered> {
    let line = bytes.first_chunk().map_or_else(Cells::default, Cells::from_bytes);
    let now = now_units(now);
    line.cells.into_iter().filter_map(move |cell| {
        let flow = Flow::of(cell, now)?;
        let kind = match flow.kind {
            0 => Kind::Note,
            1 => Kind::Flow,
            2 => Kind::Datagrams,
            _ => Kind::Young,
        };
        let Flow { tag, backend, age, .. } = flow;
        Some(Remembered { tag, slot: flow.slot(), backend, kind, age })
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

/// `balancer_time`: the clock of notes is finer.
const fn time(kind: u8, now: u64) -> u64 {
    if kind == NOTE { now } else { now >> NOTE_BITS }
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
/// `BALANCER_TIME_MASK`.
pub(super) const TIME: u64 = 0x3fff;
/// `BALANCER_TIME_SHIFT`.
const TIME_SHIFT: u32 = 31;
/// `BALANCER_NOTE_BITS`.
pub(super) const NOTE_BITS: u32 = 8;
/// `BALANCER_NOTE`, `BALANCER_FLOW` and `BALANCER_YOUNG`.
pub(super) const NOTE: u8 = 0;
pub(super) const FLOW: u8 = 1;
pub(super) const YOUNG: u8 = 3;
/// `balancer_life`.
pub(super) const LIFE: [u32; 4] = [30 << NOTE_BITS, 1676, 28, 30];

#[cfg(test)]
mod tests {
    use spec::Spec;

    use super::*;

    #[test]
    fn flows_live_as_long_as_in_the_program() {
        for object in [super::super::OBJECT, super::super::NAT_OBJECT] {
            let spec = Spec::parse("balancer", object).unwrap();
            assert_eq!(lifetimes(spec.global_value("balancer_life").unwrap()), LIFE);
        }
    }
}
