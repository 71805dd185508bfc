//! `LossBound`: the probability that a sender below its limit loses packets because of others.
//!
//! A sender without a bucket takes the fullest bucket of its line, with the tokens that are missing
//! from it: at most an eighth of those that others took from the line and that were not earned
//! since, plus one. The tokens that others take are a queue that eight buckets serve. For Poisson
//! arrivals, which forged addresses under a random hash are, the queue is longer than x with a
//! probability of at most e^(-θx), where load·(e^θ - 1) = θ (Cramér-Lundberg).

use crate::abi::Line;

/// A bound for a flood of senders with one packet each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossBound {
    /// Packets per second of others, divided by the tokens that all buckets earn. From 1, all
    /// senders share one limit.
    pub load: f64,
    /// The number of buckets that share a queue: those of a line, or one.
    together: f64,
}

impl LossBound {
    /// The bound for `flood_pps` from others, at a limit of `rate_pps` with a number of buckets.
    pub fn new(flood_pps: f64, rate_pps: f64, buckets: f64) -> Self {
        Self { load: flood_pps / (rate_pps * buckets), together: buckets.min(Line::BUCKETS as f64) }
    }

    /// The probability of a loss for a sender that always leaves at least `spare` tokens in its
    /// bucket.
    pub fn chance(&self, spare: f64) -> f64 {
        if self.load >= 1.0 {
            return 1.0;
        }
        let queue = self.together * (spare - 1.0).max(0.0);
        (-self.exponent() * queue).exp()
    }

    /// The θ > 0 with load·(e^θ - 1) = θ, by bisection.
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
