//! SplitMix64 (Steele, Lea, Flood 2014): one sequence of random numbers for each processor.

/// State of the generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of processor `cpu` for a seed.
    pub fn new(seed: u64, cpu: u32) -> Self {
        Self(mix(seed ^ u64::from(cpu).wrapping_mul(GAMMA)))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }
}

fn mix(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

/// Step of the state: the golden ratio in 64 bits.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_generate_different_numbers_from_one_seed() {
        let first = |seed, cpu| Random::new(seed, cpu).next();
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_eq!(first(7, 3), first(7, 3));
    }
}
