//! What a sender below its limit can lose to others, as a chance.
//!
//! A sender without a bucket takes over the fullest of its line, with what is missing from it: at
//! most an eighth of what others took out of the line and what was not earned back since, and one
//! token. What others take is a queue that eight buckets serve. For senders that come by chance
//! (Poisson), which is what invented addresses do under a random hash, such a queue is longer than
//! x with a chance of at most e^(-θx), where load·(e^θ - 1) = θ (Cramér-Lundberg).

use crate::abi::Line;

/// Others that send one packet each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossBound {
    /// Packets a second of others, over all that the buckets earn in a second: from 1 on, the limit
    /// is one for all senders together, and each has its part.
    pub load: f64,
    /// Buckets that make up for each other: those of a line, or the one that there is.
    together: f64,
}

impl LossBound {
    /// `flood_pps` from others, on a limit of `rate_pps` with so many buckets.
    pub fn new(flood_pps: f64, rate_pps: f64, buckets: f64) -> Self {
        Self { load: flood_pps / (rate_pps * buckets), together: buckets.min(Line::BUCKETS as f64) }
    }

    /// The chance that a packet is lost of a sender that never leaves less than `spare` tokens in a
    /// bucket of its own.
    pub fn chance(&self, spare: f64) -> f64 {
        if self.load >= 1.0 {
            return 1.0;
        }
        let queue = self.together * (spare - 1.0).max(0.0);
        (-self.exponent() * queue).exp()
    }

    /// θ > 0 with load·(e^θ - 1) = θ, by halving.
    fn exponent(&self) -> f64 {
        let (mut low, mut high) = (0.0_f64, 64.0_f64);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            let fits = self.load * middle.exp_m1() < middle;
            *(if fits { &mut low } else { &mut high }) = middle;
        }
        low
    }
}
