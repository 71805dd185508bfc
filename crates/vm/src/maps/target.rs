//! Contents of redirect maps and program arrays, by the words of their slots.

use super::{Map, Storage as _, Table};
use crate::redirect::Target;

impl Map {
    /// Number of the program that a program array holds at `index`.
    #[inline]
    pub(crate) fn program_at(&self, index: u32) -> Option<usize> {
        each!(self.table(), storage => storage.program_at(index))
    }
}

/// The number of an id in a value.
#[inline]
pub(super) fn number(id: u32) -> Option<u32> {
    id.checked_sub(1)
}

/// The first of `places` at `from` or later that has a target.
pub(super) fn first(
    from: u32,
    places: u32,
    look: impl Fn(u32) -> Option<Target>,
) -> Option<(u32, Target)> {
    (from..places).find_map(|place| Some((place, look(place)?)))
}
