//! The table of slots.

use super::backend::{Backend, Error, SLOTS, members};
use super::fill::fill;
use super::nearest::{Visit, first_visits};
use super::share::capacities;

/// The owner of each slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    backends: Vec<Backend>,
    /// Index in `backends` of each slot's owner; [`SLOTS`] entries.
    slots: Vec<u16>,
}

impl Table {
    /// The table of these backends. `seed` belongs to the service: two services that share
    /// backends should differ in it, and balancers of one service must not.
    ///
    /// The order of `backends` decides the indices in the table and nothing else.
    ///
    /// # Errors
    /// A list that is empty, too long, has a duplicate, or weights that are all 0.
    pub fn new(seed: u64, backends: &[Backend]) -> Result<Self, Error> {
        let members = members(seed, backends)?;
        let capacities = capacities(&members);
        let first = first_visits(&members);
        let mut slots = vec![0; SLOTS];
        let (mut free, mut waiting) = (Vec::with_capacity(members.len()), Vec::new());
        let (mut visited, lengths) = by_member(members.len(), &first);
        let mut rest = visited.as_mut_slice();
        for ((member, capacity), length) in members.iter().zip(capacities).zip(lengths) {
            let own = rest.split_off_mut(..length).expect("lengths sum to the slots at most");
            let kept = earliest(own, capacity as usize, &first);
            own[..kept].iter().for_each(|&slot| slots[usize::from(slot)] = member.index);
            free.push(capacity - kept as u32);
            waiting.extend_from_slice(&own[kept..]);
        }
        waiting.extend_from_slice(rest);
        waiting.sort_unstable();
        fill(seed, &members, &free, waiting, |slot, member| {
            slots[usize::from(slot)] = members[member].index;
        });
        Ok(Self { backends: backends.to_vec(), slots })
    }

    /// The backends, as they were given.
    #[must_use]
    pub fn backends(&self) -> &[Backend] {
        &self.backends
    }

    /// Index of the owner of each slot in [`Self::backends`]; [`SLOTS`] entries.
    #[must_use]
    pub fn slots(&self) -> &[u16] {
        &self.slots
    }

    /// Number of slots of each backend, in the order of [`Self::backends`].
    #[must_use]
    pub fn loads(&self) -> Vec<u32> {
        let mut loads = vec![0; self.backends.len()];
        self.slots.iter().for_each(|&owner| loads[usize::from(owner)] += 1);
        loads
    }
}

/// All slots in the order of the members that visit them first, and the number of each member's.
/// Slots without a visit are last.
fn by_member(members: usize, first: &[Visit]) -> (Vec<u16>, Vec<usize>) {
    let mut lengths = vec![0; members + 1];
    let group = |visit: &Visit| visit.member().unwrap_or(members);
    first.iter().for_each(|visit| lengths[group(visit)] += 1);
    let mut next: Vec<usize> = lengths
        .iter()
        .scan(0, |end, length| {
            *end += length;
            Some(*end - length)
        })
        .collect();
    let mut slots = vec![0; first.len()];
    for (slot, visit) in first.iter().enumerate() {
        let place = &mut next[group(visit)];
        slots[*place] = slot as u16;
        *place += 1;
    }
    lengths.truncate(members);
    (slots, lengths)
}

/// Moves the slots that were visited earliest to the start, `count` of them if there are more, and
/// returns their number.
fn earliest(slots: &mut [u16], count: usize, first: &[Visit]) -> usize {
    if slots.len() > count {
        slots.select_nth_unstable_by_key(count, |&slot| first[usize::from(slot)]);
    }
    slots.len().min(count)
}
