//! `Sample`: a weighted sample of any number of packets in fixed memory.
//!
//! Priority sampling: a packet of weight w has the priority w/u, with u random in (0, 1]. The
//! packets with the highest priorities are kept, and their weight becomes at least the highest
//! priority that was not kept. So the expected sum over any subset is correct, even if the subset
//! is selected later. Rule: the caller provides the weight of each packet. (N. Duffield, C. Lund,
//! M. Thorup: Priority sampling for estimation of arbitrary subset sums, 2007.)

use super::Packet;

/// A weighted sample of packets.
#[derive(Clone, Debug)]
pub struct Sample {
    most: usize,
    kept: Vec<Kept>,
    /// The highest priority of a packet that was not kept.
    lowest: f64,
    random: u64,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    priority: f64,
    weight: f64,
    packet: Packet,
}

/// A sum over sampled packets, as an estimate for all packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Estimated number of packets.
    pub packets: f64,
    /// Estimated number of bytes.
    pub bytes: f64,
    /// Number of sampled packets.
    pub kept: usize,
    variance: f64,
}

impl Sample {
    /// A sample of `most` packets, which takes less than 400 bytes per packet.
    pub fn new(most: usize, seed: u64) -> Self {
        let kept = Vec::with_capacity(2 * most.max(1));
        Self { most: most.max(1), kept, lowest: 0.0, random: seed | 1 }
    }

    /// Adds a packet with its weight.
    pub fn add(&mut self, packet: Packet, weight: f64) {
        let priority = weight / self.random_share();
        if priority <= self.lowest || priority.is_nan() {
            return;
        }
        self.kept.push(Kept { priority, weight, packet });
        if self.kept.len() == 2 * self.most {
            self.prune();
        }
    }

    /// The sampled packets, with their weights.
    pub fn finish(mut self) -> Vec<(Packet, f64)> {
        if self.kept.len() > self.most {
            self.prune();
        }
        let lowest = self.lowest;
        self.kept.into_iter().map(|one| (one.packet, one.weight.max(lowest))).collect()
    }

    fn prune(&mut self) {
        let most = self.most;
        self.kept.select_nth_unstable_by(most, |a, b| b.priority.total_cmp(&a.priority));
        self.lowest = self.lowest.max(self.kept[most].priority);
        self.kept.truncate(most);
    }

    /// A random number in (0, 1] (xorshift).
    fn random_share(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Rate {
    /// Adds a sampled packet with its weight.
    pub fn add(&mut self, packet: &Packet, weight: f64) {
        self.packets += weight;
        self.bytes += weight * f64::from(packet.length);
        self.kept += 1;
        self.variance += weight * (weight - 1.0).max(0.0);
    }

    /// The error of `packets` with a confidence of 95 %.
    pub fn error(&self) -> f64 {
        CONFIDENCE * self.variance.sqrt()
    }
}

/// Standard deviations for a confidence of 95 %.
pub(super) const CONFIDENCE: f64 = 1.96;

#[cfg(test)]
mod tests {
    use super::super::tests::udp;
    use super::*;

    fn sum(kept: &[(Packet, f64)], port: u16) -> Rate {
        let mut rate = Rate::default();
        for (packet, weight) in kept.iter().filter(|(one, _)| one.ports == Some((9, port))) {
            rate.add(packet, *weight);
        }
        rate
    }

    #[test]
    fn few_are_all_kept() {
        let mut sample = Sample::new(100, 1);
        (0..100).for_each(|_| sample.add(udp("10.0.0.1", (9, 1)), 1.0));
        let rate = sum(&sample.finish(), 1);
        assert_eq!((rate.packets, rate.kept, rate.error()), (100.0, 100, 0.0));
    }

    #[test]
    fn sums_over_many_are_right_within_their_error() {
        let (mut missed, runs) = (0, 100);
        for seed in 1..=runs {
            let mut sample = Sample::new(500, u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
            // Weights differ by a hundred, as when a flood begins in the middle.
            for number in 0..10_000_u32 {
                let (port, weight) = if number % 10 == 0 { (2, 100.0) } else { (1, 1.0) };
                sample.add(udp("10.0.0.1", (9, port)), weight);
            }
            let kept = sample.finish();
            assert_eq!(kept.len(), 500);
            let [light, heavy] = [sum(&kept, 1), sum(&kept, 2)];
            missed += u32::from((light.packets - 9_000.0).abs() > light.error());
            missed += u32::from((heavy.packets - 100_000.0).abs() > heavy.error());
        }
        // One in twenty of 200.
        assert!(missed < 25, "{missed}");
    }
}
