//! The backend that is nearest to each slot: weighted rendezvous hashing in time linear in the
//! slots, not in slots times backends.
//!
//! Each backend visits slots in an endless random sequence, one visit in each interval of a length
//! inverse to its weight. A slot belongs to the backend that visits it first. When a backend
//! leaves, only its slots change, each to the backend of the next visit; when a weight grows, the
//! backend's visits come earlier and only it gains slots.
//!
//! Visits are computed up to a limit, on average eight for each slot. One slot of 3000 has
//! none until then and counts as over the limit of its backend: it goes wherever there is capacity.

use super::backend::{Member, SLOTS};

/// Visits for each slot, as a power of two.
const VISITS_LOG: u32 = 3;
/// End of time: a number of 48 bits, so that a time and a member fit into 64.
const END: u64 = 1 << 48;

/// First visit of a slot: the time in the high 48 bits, the member in the low 16. Visits of a
/// member have different times, so the numbers order all first visits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Visit(u64);

impl Visit {
    const NONE: Self = Self(u64::MAX);

    fn new(time: u64, member: usize) -> Self {
        Self(time << 16 | member as u64)
    }

    /// Index of the member, if there was a visit.
    pub(super) fn member(self) -> Option<usize> {
        (self != Self::NONE).then_some((self.0 & 0xffff) as usize)
    }
}

/// The first visit of each slot.
pub(super) fn first_visits(members: &[Member]) -> Vec<Visit> {
    let total: u64 = members.iter().map(|member| u64::from(member.weight)).sum();
    let mut first = vec![Visit::NONE; SLOTS];
    for (index, member) in members.iter().enumerate() {
        let interval =
            (total << (48 - SLOTS.trailing_zeros() - VISITS_LOG)) / u64::from(member.weight);
        let (mut start, mut number) = (0, 0);
        while start < END {
            let random = member.visits.at(number);
            let time = start + scaled(interval, random);
            if time < END {
                let slot = &mut first[(random >> 48) as usize];
                *slot = (*slot).min(Visit::new(time, index));
            }
            start += interval;
            number += 1;
        }
    }
    first
}

/// A point within an interval, by the low 48 bits of a random number.
fn scaled(interval: u64, random: u64) -> u64 {
    ((u128::from(interval) * u128::from(random % END)) >> 48) as u64
}
