//! `Maps`: the maps of limits, which are filled after loading.

use spec::{Expect, Map};

use crate::abi;
use crate::compile::limits::Limits;
use crate::maps::{LIMITS, LINES, SEED};

/// The maps of limits, named as in the object.
#[derive(Debug)]
pub struct Maps<'a, M> {
    pub limits: &'a M,
    pub lines: &'a M,
    pub seed: &'a M,
}

impl<'a, M> Maps<'a, M> {
    /// Finds the maps by their names in the object.
    pub fn find<E>(map: impl Fn(&str) -> Result<&'a M, E>) -> Result<Self, E> {
        Ok(Self { limits: map(LIMITS)?, lines: map(LINES)?, seed: map(SEED)? })
    }
}

impl Limits {
    /// Fills new maps, in which all buckets are full, with a random seed. An existing seed, of a
    /// map that is reused from an older program, is kept, because it locates the buckets.
    pub fn fill<M: Map>(&self, maps: &Maps<'_, M>) -> Result<(), M::Error> {
        self.fill_limits(maps)?;
        fill_seed(maps.seed)
    }

    /// Fills maps with a given seed.
    pub fn fill_seeded<M: Map>(&self, maps: &Maps<'_, M>, seed: abi::Seed) -> Result<(), M::Error> {
        self.fill_limits(maps)?;
        maps.seed.update(&[0; 4], &seed.to_bytes(), Expect::Any)
    }

    fn fill_limits<M: Map>(&self, maps: &Maps<'_, M>) -> Result<(), M::Error> {
        for (number, limit) in (0_u32..).zip(&self.limits) {
            maps.limits.update(&number.to_le_bytes(), &limit.to_bytes(), Expect::Any)?;
        }
        Ok(())
    }
}

/// Writes a random seed into its map unless that has one.
pub fn fill_seed<M: Map>(map: &M) -> Result<(), M::Error> {
    let old = map.lookup(&[0; 4])?;
    match old.is_some_and(|seed| seed.iter().any(|byte| *byte != 0)) {
        true => Ok(()),
        false => map.update(&[0; 4], &abi::Seed::random().to_bytes(), Expect::Any),
    }
}
