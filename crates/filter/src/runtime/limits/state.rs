//! `State`: the state of a limit: the number of senders that used part of their burst, the number
//! without tokens, and the possible loss of others.
//!
//! Rule: it is read while packets are processed, so it is not a consistent snapshot. Buckets have
//! no addresses: sampled packets show which senders are over a limit (`talkers`).

use spec::Map;

use super::LossBound;
use crate::abi::{self, Level, Line};
use crate::compile::limits::LEAST_BITS;

/// The use of the buckets of one level of a limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fill {
    /// The packets that share a bucket, as in rules.
    pub per: String,
    /// The number of buckets.
    pub buckets: u64,
    /// Buckets that are not full; each belongs to a sender.
    pub used: u64,
    /// Buckets with too few tokens for a packet.
    pub empty: u64,
    /// The average share of the burst that is left in used buckets; 1 if none is used.
    pub left: f64,
}

/// The traffic at a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Packets per second.
    pub pps: f64,
    /// Bits per second.
    pub bps: f64,
}

/// The effect of the senders at a limit on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sharing {
    /// The share of the tokens that all buckets earn, or of the total. From 1, all senders share
    /// one limit.
    pub load: f64,
    /// The probability that a sender below its limit loses a packet.
    pub loss: f64,
}

/// The settings of a limit in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    limit: abi::Limit,
}

impl State {
    /// Reads a limit; `None` if it does not exist.
    pub fn read<M: Map>(limits: &M, number: u32) -> Result<Option<Self>, M::Error> {
        let bytes = limits.lookup(&number.to_le_bytes())?;
        let bytes = bytes.and_then(|bytes| <[u8; abi::Limit::SIZE]>::try_from(bytes).ok());
        Ok(bytes.map(|bytes| Self { limit: abi::Limit::from_bytes(&bytes) }))
    }

    /// The use of each level, of which the first is that of the sender. `line` returns the bytes of
    /// a line of buckets; buckets of other lines count as full.
    pub fn fills(&self, line: impl Fn(u32) -> Option<[u8; Line::SIZE]>, now_ns: u64) -> Vec<Fill> {
        let now = now_ns << (self.limit.finer & 63) >> (self.limit.coarser & 63);
        let name = |place, level: &Level| match is_whole(level) && place > 0 {
            true => "total".to_owned(),
            false => name(level),
        };
        let levels = self.levels().enumerate();
        levels.map(|(place, level)| self.fill(name(place, level), level, &line, now)).collect()
    }

    fn fill(
        &self,
        per: String,
        level: &Level,
        line: &impl Fn(u32) -> Option<[u8; Line::SIZE]>,
        now: u64,
    ) -> Fill {
        let mut fill = Fill { per, buckets: buckets(level), left: 1.0, ..Fill::default() };
        let mut left = 0.0;
        let need = if self.limit.unit == abi::Unit::Bytes as u32 { LEAST_BITS / 8 } else { 1 };
        for bytes in (level.first..=level.first + level.mask).filter_map(line) {
            for bucket in bytes.as_chunks::<8>().0.iter().map(|one| u64::from_le_bytes(*one)) {
                let missing = (bucket >> TAG_BITS).wrapping_sub(now) & TIME_MASK;
                // More than a burst is missing if the clock of a processor is ahead; more than two
                // if the time is past.
                if missing == 0 || missing > 2 * level.burst {
                    continue;
                }
                let missing = missing.min(level.burst);
                fill.used += 1;
                fill.empty += u64::from(missing + need * level.cost > level.burst);
                left += 1.0 - missing as f64 / level.burst as f64;
            }
        }
        if fill.used > 0 {
            fill.left = left / fill.used as f64;
        }
        fill
    }

    /// The effect on a sender that uses at most half of its burst, if all packets come from forged
    /// addresses. `None` for a limit with one bucket.
    pub fn sharing(&self, load: Load) -> Option<Sharing> {
        let own = self.levels().next().filter(|level| level.mask > 0)?;
        let total = self.levels().skip(1).find(|level| is_whole(level));
        let met = if self.is_of_bytes() { load.bps / 8.0 } else { load.pps };
        // Packets over the total take no tokens from the buckets of senders.
        let taken = total.map_or(met, |total| met.min(self.rate(total)));
        let bound = |level, met| LossBound::new(met, self.rate(level), buckets(level) as f64);
        let half = self.burst(own, load) / 2.0;
        let of_own = bound(own, taken);
        let mut sharing = Sharing { load: of_own.load, loss: of_own.chance(half) };
        if let Some(total) = total {
            let of_total = bound(total, met);
            let loss = of_total.chance(self.burst(total, load));
            sharing.load = sharing.load.max(of_total.load);
            sharing.loss = 1.0 - (1.0 - sharing.loss) * (1.0 - loss);
        }
        Some(sharing)
    }

    /// Tokens per second.
    fn rate(&self, level: &Level) -> f64 {
        let second =
            1e9 * f64::from(self.limit.finer).exp2() / f64::from(self.limit.coarser).exp2();
        second / level.cost as f64
    }

    /// The burst of a level in packets of average size.
    fn burst(&self, level: &Level, load: Load) -> f64 {
        let tokens = level.burst / level.cost.max(1);
        let size = if !self.is_of_bytes() {
            1.0
        } else if load.pps > 0.0 {
            load.bps / 8.0 / load.pps
        } else {
            FULL_FRAME
        };
        tokens as f64 / size
    }

    fn is_of_bytes(&self) -> bool {
        self.limit.unit == abi::Unit::Bytes as u32
    }

    fn levels(&self) -> impl Iterator<Item = &Level> {
        self.limit.levels.iter().take_while(|level| level.cost > 0)
    }
}

/// Whether all packets share one bucket.
fn is_whole(level: &Level) -> bool {
    level.mask == 0
}

/// The number of buckets of a level; if all packets share one, they find the same one of the line.
fn buckets(level: &Level) -> u64 {
    if is_whole(level) { 1 } else { u64::from(level.mask + 1) * WAYS }
}

/// The packets that share a bucket, as rules write it.
fn name(level: &Level) -> String {
    let length =
        |v4: u32, [high, low]: [u64; 2]| (v4.count_ones(), high.count_ones() + low.count_ones());
    let source = length(level.source4, level.source6);
    let dest = length(level.dest4, level.dest6);
    let prefix = |side: &str, (v4, v6): (u32, u32)| match (v4, v6) {
        (32, 128) => side.to_owned(),
        _ => format!("{side}/{v4},{v6}"),
    };
    match (source, dest, level.ports) {
        ((0, 0), (0, 0), 0) => "rule".to_owned(),
        ((0, 0), (0, 0), _) => "dport".to_owned(),
        (_, (0, 0), _) => prefix("source", source),
        ((0, 0), ..) => prefix("dest", dest),
        _ => "flow".to_owned(),
    }
}

const WAYS: u64 = Line::BUCKETS as u64;
const TAG_BITS: u32 = 16;
const TIME_MASK: u64 = (1 << 48) - 1;
/// Length of a full frame in bytes.
const FULL_FRAME: f64 = 1514.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Seed;
    use crate::compile::limits::Limits;
    use crate::model::limits::{Model, Sender};
    use crate::{Limit, Per, Total, Unit};
    use spec::MemoryMap;

    const SECOND: u64 = 1_000_000_000;

    fn limits(rate: u64, unit: Unit, burst: u64, per: Per) -> Limits {
        let mut limits = Limits::default();
        limits.add(&Limit { rate, unit, burst, per, total: None }).unwrap();
        limits
    }

    fn state(limits: &Limits) -> State {
        State { limit: limits.limits()[0] }
    }

    fn fills(limits: &Limits, model: &Model, now: u64) -> Vec<Fill> {
        let line = |number: u32| {
            let buckets = model.lines().get(number as usize)?;
            Some(std::array::from_fn(|byte| buckets[byte / 8].to_le_bytes()[byte % 8]))
        };
        state(limits).fills(line, now)
    }

    const SOURCE: Per = Per::Source { v4: 32, v6: 128 };

    #[test]
    fn senders_are_remembered_until_they_have_their_burst_back() {
        let limits = limits(10, Unit::Packets, 20, SOURCE);
        let mut model = Model::new(&limits, Seed::from_number(7));
        let full = fills(&limits, &model, SECOND);
        assert!(full.iter().all(|one| (one.used, one.empty, one.left) == (0, 0, 1.0)), "{full:?}");
        let names: Vec<_> = full.iter().map(|one| one.per.as_str()).collect();
        assert_eq!(names, ["source", "source/24,64", "source/16,48"]);
        assert_eq!(full[0].buckets, 32_768);
        for (source, packets) in [(1, 20), (2, 10), (3, 25)] {
            let sender = Sender { source: 0x0a00_0000 | source, ..Sender::default() };
            for _ in 0..packets {
                model.is_over(0, &sender, 60, SECOND);
            }
        }
        let own = &fills(&limits, &model, SECOND)[0];
        assert_eq!((own.used, own.empty), (3, 2));
        assert!((own.left - 0.5 / 3.0).abs() < 0.001, "{own:?}");
        let own = &fills(&limits, &model, SECOND + SECOND * 3 / 2)[0];
        assert_eq!((own.used, own.empty), (2, 0), "the second bucket is full again");
        assert_eq!(fills(&limits, &model, 4 * SECOND)[0].used, 0);
    }

    #[test]
    fn a_limit_of_bytes_is_empty_when_no_frame_fits() {
        let limits = limits(8000, Unit::Bits, 8 * 1000, Per::Rule);
        let mut model = Model::new(&limits, Seed::from_number(7));
        for (length, empty) in [(900, 0), (41, 1)] {
            assert!(!model.is_over(0, &Sender::default(), length, SECOND));
            let all = fills(&limits, &model, SECOND);
            assert_eq!((all[0].buckets, all[0].used, all[0].empty), (1, 1, empty), "{length}");
        }
        assert_eq!(state(&limits).sharing(Load { pps: 1.0, bps: 1.0 }), None);
        let level = limits.limits()[0].levels[0];
        let burst = |bps| state(&limits).burst(&level, Load { pps: 10.0, bps });
        assert_eq!([burst(8_000.0), burst(40_000.0)], [10.0, 2.0], "frames of 100 and 500 bytes");
    }

    /// The times of bursts of more than a minute are coarser than those of the clock.
    #[test]
    fn long_bursts_are_shown_as_well() {
        let limits = limits(1, Unit::Packets, 1000, Per::Rule);
        assert!(state(&limits).limit.coarser > 0);
        let mut model = Model::new(&limits, Seed::from_number(7));
        for _ in 0..100 {
            assert!(!model.is_over(0, &Sender::default(), 60, SECOND));
        }
        for (seconds, left) in [(1, 0.9), (51, 0.95), (91, 0.99)] {
            let one = &fills(&limits, &model, seconds * SECOND)[0];
            assert_eq!((one.used, one.empty), (1, 0));
            assert!((one.left - left).abs() < 0.001, "{seconds} s: {one:?}");
        }
    }

    #[test]
    fn the_bound_is_that_of_the_flood() {
        let limits = limits(10, Unit::Packets, 20, SOURCE);
        let load = Load { pps: 0.5 * 10.0 * 32_768.0, bps: 0.0 };
        let sharing = state(&limits).sharing(load).unwrap();
        assert!((sharing.load - 0.5).abs() < 1e-5, "{sharing:?}");
        assert!(sharing.loss < 1e-12, "{sharing:?}");
        assert_eq!(state(&limits).burst(&limits.limits()[0].levels[0], load), 20.0);
    }

    /// A flood takes at most the total from the buckets of senders; the total itself may be empty.
    #[test]
    fn a_total_bounds_the_load() {
        let total = Some(Total { rate: 5_000, burst: 100 });
        let (rate, unit, per) = (10, Unit::Packets, SOURCE);
        let mut limits = Limits::default();
        limits.add(&Limit { rate, unit, burst: 20, per, total }).unwrap();
        let state = state(&limits);
        let sharing = |pps| state.sharing(Load { pps, bps: 0.0 }).unwrap();
        let half = sharing(2_500.0);
        assert!((half.load - 0.5).abs() < 1e-5 && half.loss < 1e-12, "{half:?}");
        let flood = sharing(1e6);
        assert!((flood.load - 200.0).abs() < 0.1 && flood.loss == 1.0, "{flood:?}");
        let mut model = Model::new(&limits, Seed::from_number(7));
        let senders = (0..200).map(|source| Sender { source: source << 16, ..Sender::default() });
        let passed = senders.filter(|sender| !model.is_over(0, sender, 60, SECOND)).count();
        assert_eq!(passed, 100);
        let all = fills(&limits, &model, SECOND);
        let told: Vec<_> = all.iter().map(|one| (one.per.as_str(), one.used, one.empty)).collect();
        let networks = ("source/16,48", 100, 0);
        let prefixes = [("source", 100, 0), ("source/24,64", 100, 0), networks];
        assert_eq!(told[..3], prefixes);
        assert_eq!((told[3], all[3].buckets), (("total", 1, 1), 1));
    }

    #[test]
    fn levels_are_called_as_in_rules() {
        for (per, name) in [
            (Per::Rule, "rule"),
            (Per::Source { v4: 24, v6: 56 }, "source/24,56"),
            (Per::Dest { v4: 32, v6: 128 }, "dest"),
            (Per::Dest { v4: 16, v6: 48 }, "dest/16,48"),
            (Per::DestPort, "dport"),
            (Per::Flow, "flow"),
        ] {
            let limits = limits(1, Unit::Packets, 1, per);
            assert_eq!(name, super::name(&limits.limits()[0].levels[0]));
        }
    }

    #[test]
    fn a_limit_that_is_not_there() {
        let map = MemoryMap::array(abi::Limit::SIZE, 1);
        assert_eq!(State::read(&map, 1).unwrap(), None);
        assert!(State::read(&map, 0).unwrap().unwrap().levels().next().is_none());
    }
}
