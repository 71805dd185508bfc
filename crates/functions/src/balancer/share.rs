//! How many slots a backend may have.

use super::backend::{Member, SLOTS};

/// Largest capacity over the share, in thousandths: what evenness allows where a share is many
/// slots.
const EXCESS: u64 = 7;
/// Free capacity to aim at, in thousandths of all slots. A slot that loses its owner finds a free
/// place near the start of its search and displaces few others.
const FREE: u64 = 16;

/// The largest number of slots of each member, in the order of `members`; the sum is at least
/// [`SLOTS`].
///
/// A share is seldom an integer. No member gets more than its share rounded up, or its share plus
/// [`EXCESS`] if that is more. Where all of these would leave more than [`FREE`] unused, as with
/// shares of a few slots, some members round down: each by a random number of its own, so that
/// another member's arrival or departure changes few capacities.
pub(super) fn capacities(members: &[Member]) -> Vec<u32> {
    let total: u64 = members.iter().map(|member| u64::from(member.weight)).sum();
    let mut free = FREE;
    loop {
        let found: Vec<u32> = members.iter().map(|member| capacity(member, total, free)).collect();
        if found.iter().map(|&slots| u64::from(slots)).sum::<u64>() >= SLOTS as u64 {
            return found;
        }
        // The random numbers were low: rare, and ends at the latest when all members round up.
        free *= 2;
    }
}

fn capacity(member: &Member, total: u64, free: u64) -> u32 {
    let slots = SLOTS as u64 * u64::from(member.weight);
    let unit = total * 1000;
    let most = slots.div_ceil(total).max(slots * (1000 + EXCESS) / unit);
    let wanted = slots * (1000 + free);
    let rounds_up = u64::from(member.rounding) * unit < (wanted % unit) << 16;
    (wanted / unit + u64::from(rounds_up)).min(most) as u32
}
