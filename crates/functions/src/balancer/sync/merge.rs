//! What a flow of a peer changes here, by the ranks of `bpf/balancer/flow.h`.

use super::{FLOW, Flow, LIFE, NOTE, TIME, WAYS, YOUNG};

/// The memory of flows, while the program uses it.
pub trait CellMemory {
    /// Number of lines, a power of two.
    fn lines(&self) -> u32;
    fn read(&self, line: u32, way: usize) -> u64;
    /// Replaces a cell if it still has the old value.
    fn replace(&self, line: u32, way: usize, old: u64, new: u64) -> bool;
}

/// What happened to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Merged {
    /// It was unknown; the cell and its place.
    Inserted,
    /// It was known, and is newer or of another kind now.
    Renewed,
    /// It was known.
    Known,
    /// It is known with another backend, and was used later here.
    Conflict,
    /// All cells of its line are of connections.
    NoCell,
    /// It was not used for too long.
    Old,
    /// The program changed the line again and again meanwhile.
    Raced,
}

impl Merged {
    pub const ALL: [Self; 7] = [
        Self::Inserted,
        Self::Renewed,
        Self::Known,
        Self::Conflict,
        Self::NoCell,
        Self::Old,
        Self::Raced,
    ];

    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Inserted => "inserted",
            Self::Renewed => "renewed",
            Self::Known => "known",
            Self::Conflict => "conflict",
            Self::NoCell => "no-cell",
            Self::Old => "old",
            Self::Raced => "raced",
        }
    }
}

/// Lines here that have the flows of a line of a memory with another size. A smaller memory does
/// not store which of several it would be; copies in all of them leave each as full as it was
/// there, and only the one that is used is kept.
pub fn copies(line: u32, lines: u32, here: u32) -> impl Iterator<Item = u32> {
    let (step, count) = if lines < here { (lines, here / lines) } else { (0, 1) };
    (0..count).map(move |n| (line & (here - 1)) + n * step)
}

/// Merges a flow into a line; returns the cell that it has now, where it was written.
pub fn merge(
    memory: &impl CellMemory,
    line: u32,
    flow: Flow,
    now: u64,
) -> (Merged, Option<(usize, u64)>) {
    if flow.is_old() {
        return (Merged::Old, None);
    }
    for _ in 0..ATTEMPTS {
        let cells: [u64; WAYS] = std::array::from_fn(|way| memory.read(line, way));
        let (merged, way, cell) = match known(&cells, flow, now) {
            Some((way, own)) => match renewed(own, flow) {
                Ok(next) => (Merged::Renewed, way, next.cell(now)),
                Err(merged) => return (merged, None),
            },
            None => match victim(&cells, now) {
                Some(way) => (Merged::Inserted, way, flow.cell(now)),
                None => return (Merged::NoCell, None),
            },
        };
        if memory.replace(line, way, cells[way], cell) {
            return (merged, Some((way, cell)));
        }
    }
    (Merged::Raced, None)
}

/// The cell of the flow.
fn known(cells: &[u64; WAYS], flow: Flow, now: u64) -> Option<(usize, Flow)> {
    let own = |cell: &u64| Flow::of(*cell, now).filter(|own| !own.is_old());
    let is_same = |own: &Flow| {
        let is_kind = own.kind == flow.kind || (own.is_connection() && flow.is_connection());
        own.tag == flow.tag && is_kind
    };
    let all = cells.iter().enumerate();
    all.filter_map(|(way, cell)| Some((way, own(cell).filter(is_same)?))).next()
}

/// The flow after both were merged, if it differs. What is hardly newer is not, as clocks differ
/// in phase: otherwise balancers would renew each other's flows for good.
fn renewed(own: Flow, flow: Flow) -> Result<Flow, Merged> {
    let is_newer = flow.age + LEAST_NEWS <= own.age;
    if own.backend != flow.backend {
        return if is_newer { Ok(flow) } else { Err(Merged::Conflict) };
    }
    let kind = if own.kind == YOUNG { flow.kind } else { own.kind };
    if !is_newer && kind == own.kind {
        return Err(Merged::Known);
    }
    Ok(Flow { kind, age: own.age.min(flow.age), ..own })
}

/// `balancer_victim`: one that is old, or else a note, or else a young connection or a flow of
/// datagrams, of which the one that was used least recently.
fn victim(cells: &[u64; WAYS], now: u64) -> Option<usize> {
    let rank = |cell: &u64| match Flow::of(*cell, now) {
        Some(own) if own.is_old() => RANK_OLD,
        None => RANK_OLD,
        Some(Flow { kind: FLOW, .. }) => 0,
        Some(Flow { kind: NOTE, age, .. }) => 2 * TIME as u32 + u32::from(age),
        Some(Flow { age, .. }) => 1 + u32::from(age),
    };
    let ranks = cells.iter().map(rank).enumerate().filter(|(_, rank)| *rank > 0);
    ranks.max_by_key(|(_, rank)| *rank).map(|(way, _)| way)
}

const RANK_OLD: u32 = 4 * TIME as u32;
/// Units by which a flow must be newer to be renewed.
const LEAST_NEWS: u16 = 2;
/// Attempts to write while the program writes.
const ATTEMPTS: u32 = 4;
const _: () =
    assert!(LIFE[0] < TIME as u32 / 2 && LIFE[1] < TIME as u32 / 2, "ages are unambiguous");
