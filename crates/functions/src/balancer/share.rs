//! How many slots a backend may have.
//!
//! A share of the slots is seldom an integer, and two wishes conflict. Free capacity makes a change
//! local: a slot that loses its owner finds a free place early and displaces few others. But no
//! backend may have more than its share rounded up, or 1.007 of its share if that is more; where
//! shares are just below an integer, that leaves nothing free. So free capacity grows and shrinks
//! with the fraction of the share, slowly enough that no change of the set changes many capacities:
//!
//! ```text
//! capacity   k+1 |          ________
//!  (mean)        |        /      . '     the line: shares; above it: capacity, twice as steep
//!                |      /    . '         until it reaches the integer above
//!              k |____/. '
//!                    k        k+1  share
//! ```

use super::backend::{Member, SLOTS};

/// A slot in the unit of shares and capacities.
const SLOT: u64 = 1 << 16;

/// The largest number of slots of each member, in the order of `members`; the sum is at least
/// [`SLOTS`].
pub(super) fn capacities(members: &[Member]) -> Vec<u32> {
    let total: u64 = members.iter().map(|member| u64::from(member.weight)).sum();
    let shares =
        members.iter().map(|member| (SLOTS as u64 * SLOT * u64::from(member.weight)) / total);
    let shares: Vec<u64> = shares.collect();
    let suffices = |all: &Vec<u32>| all.iter().map(|&one| one as usize).sum::<usize>() >= SLOTS;
    let rounded = |free: u32| -> Vec<u32> {
        let both = shares.iter().zip(members);
        both.map(|(&share, member)| capacity(share, free, member.rounding)).collect()
    };
    // The first attempt suffices unless the random numbers are unusually low.
    let found = (0..=LEAST_FREE).rev().map(rounded).find(suffices);
    found.unwrap_or_else(|| shares.iter().map(|&share| (most(share) / SLOT) as u32).collect())
}

/// Free capacity in every case, relative to the share, as a negative power of two.
const LEAST_FREE: u32 = 11;
/// Free capacity at most, relative to the share, as a negative power of two: shares of a few slots
/// would otherwise leave much free, and some backends without a slot.
const MOST_FREE: u32 = 6;

/// The capacity of a share: an integer above or below what is wanted on average, by a random number
/// of the member. So another member's arrival or departure changes few capacities.
fn capacity(share: u64, least_free: u32, rounding: u16) -> u32 {
    let fraction = share % SLOT;
    let steep = (share - fraction + (2 * fraction).min(SLOT)).min(share + (share >> MOST_FREE));
    let wanted = steep.max(excess(share).saturating_sub(SLOT)).max(share + (share >> least_free));
    ((wanted + u64::from(rounding)).min(most(share)) / SLOT) as u32
}

/// The bound of a capacity: the share rounded up, or [`excess`] rounded down.
fn most(share: u64) -> u64 {
    share.next_multiple_of(SLOT).max(excess(share) / SLOT * SLOT)
}

/// What evenness permits where a share is many slots.
fn excess(share: u64) -> u64 {
    share * 1007 / 1000
}

#[cfg(test)]
mod tests {
    use super::super::backend::{Backend, members};
    use super::*;

    fn equal(count: u64) -> Vec<u32> {
        let backends: Vec<Backend> = (0..count).map(|id| Backend { id, weight: 1 }).collect();
        capacities(&members(7, &backends).expect("weights are above 0"))
    }

    #[test]
    fn capacities_suffice_for_all_slots() {
        for count in [1, 2, 3, 450, 993, 1000, 7000, 40_000, 65_533, 65_534, 65_535] {
            let sum: u64 = equal(count).iter().map(|&slots| u64::from(slots)).sum();
            assert!((65_536..=66_561).contains(&sum), "{count} backends: {sum}");
        }
    }

    /// All capacities changed together where shares crossed an integer, at 992 backends.
    #[test]
    fn no_size_of_the_set_changes_many_capacities() {
        for count in 901..1020 {
            let (before, after) = (equal(count), equal(count - 1));
            let changed = before.iter().zip(&after).filter(|(before, after)| before != after);
            let changed = changed.count();
            assert!(changed < 220, "{count} backends: {changed} capacities change");
        }
    }
}
