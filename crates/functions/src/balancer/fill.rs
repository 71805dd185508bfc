//! Slots whose nearest backend is full, and free places of other backends: who gets which.
//!
//! Each free place has a random cell of a table, and each slot probes cells in a random order of
//! its own. In rounds, all waiting slots probe next cells and take a place that is free. A place
//! taken in an early round is never lost to a slot that comes in a later one; so a change among the
//! places or slots displaces what was placed late, and little follows from it.

use super::backend::{Member, SLOTS};
use super::hash::{Purpose, Sequence};

/// Rounds of four probes each: a slot makes one probe for each cell that exists, as a bound. Slots
/// that still wait compete for the last few places and take what is left in the order of cells.
const ROUNDS: u64 = SLOTS as u64 / 4;
/// End of a list of places.
const NONE: u32 = u32::MAX;

/// Gives each waiting slot to a member with free capacity. `waiting` is in ascending order, `free`
/// is the number of free places of each member; there are at least as many as slots.
pub(super) fn fill(
    seed: u64,
    members: &[Member],
    free: &[u32],
    mut waiting: Vec<u16>,
    mut give: impl FnMut(u16, usize),
) {
    let mut places = Places::new(members, free);
    let probes = Sequence::new(seed, Purpose::Probes, 0);
    for round in 0..ROUNDS {
        if waiting.is_empty() {
            return;
        }
        waiting.retain(|&slot| {
            let cells = probes.at(round << 16 | u64::from(slot));
            let found = (0..4).find_map(|lane| places.take((cells >> (16 * lane)) as u16));
            found.map(|member| give(slot, member)).is_none()
        });
    }
    fill_in_order(&mut places, &waiting, give);
}

/// Gives the waiting slots what is left in the order of cells.
fn fill_in_order(places: &mut Places, waiting: &[u16], mut give: impl FnMut(u16, usize)) {
    let mut cell = 0;
    for &slot in waiting {
        let member = loop {
            match places.take(cell) {
                Some(member) => break member,
                None => cell = cell.checked_add(1).expect("there are places for all slots"),
            }
        };
        give(slot, member);
    }
}

/// Free places by cell: a list for each cell, because two places can have the same.
struct Places {
    /// Index in `places` of a cell's first place, or [`NONE`].
    first: Vec<u32>,
    /// Member of a place, and the next place in its cell.
    places: Vec<(u16, u32)>,
}

impl Places {
    fn new(members: &[Member], free: &[u32]) -> Self {
        let mut all = Self { first: vec![NONE; SLOTS], places: Vec::new() };
        for (index, (member, &count)) in members.iter().zip(free).enumerate() {
            for place in 0..count {
                let first = &mut all.first[(member.places.at(u64::from(place)) >> 48) as usize];
                all.places.push((index as u16, *first));
                *first = all.places.len() as u32 - 1;
            }
        }
        all
    }

    /// Takes a place of this cell and returns its member.
    fn take(&mut self, cell: u16) -> Option<usize> {
        let first = &mut self.first[usize::from(cell)];
        let &(member, next) = self.places.get(*first as usize)?;
        *first = next;
        Some(usize::from(member))
    }
}

#[cfg(test)]
mod tests {
    use super::super::backend::{Backend, members};
    use super::*;

    /// 65,536 places of three members, one for each slot.
    fn all_places() -> (Vec<Member>, [u32; 3]) {
        let backends = [1, 2, 3].map(|id| Backend { id, weight: 1 });
        (members(0, &backends).expect("weights are above 0"), [20_000, 45_000, 536])
    }

    /// Counts what each member gets, and fails for a slot that gets two places.
    fn counted(run: impl FnOnce(&mut dyn FnMut(u16, usize))) -> [u32; 3] {
        let (mut given, mut filled) = ([0; 3], vec![false; SLOTS]);
        run(&mut |slot, member| {
            given[member] += 1;
            assert!(!std::mem::replace(&mut filled[usize::from(slot)], true), "slot {slot}");
        });
        given
    }

    #[test]
    fn all_places_are_taken_by_probes() {
        let (members, free) = all_places();
        for seed in 0..2 {
            let slots = (0..=u16::MAX).collect();
            assert_eq!(counted(|give| fill(seed, &members, &free, slots, give)), free);
        }
    }

    #[test]
    fn all_places_are_taken_in_order() {
        let (members, free) = all_places();
        let slots: Vec<u16> = (0..=u16::MAX).collect();
        let mut places = Places::new(&members, &free);
        assert_eq!(counted(|give| fill_in_order(&mut places, &slots, give)), free);
    }
}
