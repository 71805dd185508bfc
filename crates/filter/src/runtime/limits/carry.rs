//! Carries buckets over when rules change.
//!
//! Rule: an unchanged limit continues with its buckets. Tokens that packets take from the old
//! buckets during the copy, which lasts milliseconds, are not counted.

use spec::{Expect, Map};

use super::Maps;
use crate::abi;

/// Copies buckets into filled maps that are not in use yet, together with the seed; `pairs` are
/// numbers of equal limits, old and new. Returns the number of limits that were carried over; a
/// limit whose rate or memory changed starts with full buckets.
pub fn carry<M: Map>(
    from: &Maps<'_, M>,
    to: &Maps<'_, M>,
    pairs: &[(u32, u32)],
) -> Result<usize, M::Error> {
    if pairs.is_empty() {
        return Ok(0);
    }
    if let Some(seed) = from.seed.lookup(&[0; 4])? {
        to.seed.update(&[0; 4], &seed, Expect::Any)?;
    }
    let mut carried = 0;
    for &(old, new) in pairs {
        let (Some(old), Some(new)) = (limit(from.limits, old)?, limit(to.limits, new)?) else {
            continue;
        };
        if is_same(&old, &new) {
            for (old, new) in old.levels.iter().zip(&new.levels) {
                copy(from.lines, to.lines, old, new)?;
            }
            carried += 1;
        }
    }
    Ok(carried)
}

fn limit<M: Map>(map: &M, number: u32) -> Result<Option<abi::Limit>, M::Error> {
    let bytes = map.lookup(&number.to_le_bytes())?;
    let bytes = bytes.and_then(|bytes| <[u8; abi::Limit::SIZE]>::try_from(bytes).ok());
    Ok(bytes.map(|bytes| abi::Limit::from_bytes(&bytes)))
}

/// Whether two limits are equal, except for the place of their lines and the level to check first.
fn is_same(old: &abi::Limit, new: &abi::Limit) -> bool {
    let placeless = |mut limit: abi::Limit| {
        limit.ended_by = 0;
        limit.levels.iter_mut().for_each(|level| level.first = 0);
        limit
    };
    placeless(*old) == placeless(*new)
}

fn copy<M: Map>(from: &M, to: &M, old: &abi::Level, new: &abi::Level) -> Result<(), M::Error> {
    if old.cost == 0 {
        return Ok(());
    }
    for line in 0..=old.mask {
        if let Some(buckets) = from.lookup(&(old.first + line).to_le_bytes())? {
            to.update(&(new.first + line).to_le_bytes(), &buckets, Expect::Any)?;
        }
    }
    Ok(())
}
