//! Backends, and those of them that take part in a table.

use super::hash::{Purpose, Sequence};

/// Slots of a table, 65,536: a slot is 16 bits of a hash, with no division on the packet's path,
/// and a table of 16-bit entries takes 128 KiB. (Maglev needs a prime number; this table does not.)
pub const SLOTS: usize = 1 << 16;

/// A backend as the choice sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backend {
    /// What all balancers know it by: the same number on each of them, and for each change of the
    /// set. [`id`](super::id) makes one from an address.
    pub id: u64,
    /// Its share of the slots relative to others' weights. 0: it gets none, so no new connections.
    pub weight: u16,
}

/// Why a set of backends has no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("no backend has a weight above 0")]
    NoneAvailable,
    #[error("{0} backends: a table names at most 65535")]
    TooMany(usize),
    #[error("two backends have the identifier {0:#018x}")]
    Duplicate(u64),
}

/// A backend with a weight above 0, and its random numbers.
pub(super) struct Member {
    /// Index in the caller's list.
    pub(super) index: u16,
    pub(super) weight: u16,
    pub(super) rounding: u16,
    pub(super) visits: Sequence,
    pub(super) places: Sequence,
}

/// The members in the order of identifiers, whatever the order of the list.
pub(super) fn members(seed: u64, backends: &[Backend]) -> Result<Vec<Member>, Error> {
    if backends.len() > usize::from(u16::MAX) {
        return Err(Error::TooMany(backends.len()));
    }
    let mut order: Vec<u16> = (0..backends.len() as u16).collect();
    order.sort_unstable_by_key(|&index| backends[usize::from(index)].id);
    let id = |index: u16| backends[usize::from(index)].id;
    if let Some(pair) = order.windows(2).find(|pair| id(pair[0]) == id(pair[1])) {
        return Err(Error::Duplicate(id(pair[0])));
    }
    order.retain(|&index| backends[usize::from(index)].weight > 0);
    if order.is_empty() {
        return Err(Error::NoneAvailable);
    }
    let member = |index: u16| Member {
        index,
        weight: backends[usize::from(index)].weight,
        rounding: (Sequence::new(seed, Purpose::Rounding, id(index)).at(0) >> 48) as u16,
        visits: Sequence::new(seed, Purpose::Nearest, id(index)),
        places: Sequence::new(seed, Purpose::Places, id(index)),
    };
    Ok(order.into_iter().map(member).collect())
}
