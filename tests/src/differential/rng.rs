//! Random numbers that a seed decides, the same on every machine.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// 0 to `bound - 1`.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no number below 0");
        (self.word() % bound as u64) as usize
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        let span = (i64::from(high) - i64::from(low) + 1) as u64;
        (i64::from(low) + (self.word() % span) as i64) as i32
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// 64 bits, of which the edges of types are likelier than others.
    pub fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.word(),
            1 => self.word() >> self.below(64),
            2 => self.below(16) as u64,
            _ => {
                let edge = self.pick(&EDGES);
                edge.wrapping_add(self.between(-1, 1) as i64 as u64)
            }
        }
    }

    /// A value for an immediate.
    pub fn immediate(&mut self) -> i32 {
        self.number() as i32
    }
}

const EDGES: [u64; 9] = [
    0,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];
