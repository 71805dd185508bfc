//! Rates and bursts as times: the time to earn one token, and the time to earn a whole burst.
//!
//! Rule: the unit of time is a power of two in nanoseconds, the finest one for which a 48-bit clock
//! wraps after 4096 bursts. So the error of a rate is at most 1/128, mostly 1/1,000,000.

use super::{Error, Limit, Unit};

/// The conversion from nanoseconds to the time of a limit: `<< finer >> coarser`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub finer: u32,
    pub coarser: u32,
}

/// The times of one bucket, in the unit of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// Time to earn one packet or byte.
    pub cost: u64,
    /// Time to earn a burst.
    pub burst: u64,
}

/// Rate and burst of a bucket, as in a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitTerms {
    rate: u128,
    burst: u64,
    /// Size of a token, in the unit of rate and burst.
    size: u64,
}

impl LimitTerms {
    /// The terms of the limit and of its total.
    pub fn of(limit: &Limit) -> Result<(Self, Option<Self>), Error> {
        let own = Self::new(limit.unit, limit.rate, limit.burst)?;
        let total = limit.total.map(|total| Self::new(limit.unit, total.rate, total.burst));
        Ok((own, total.transpose()?))
    }

    fn new(unit: Unit, rate: u64, burst: u64) -> Result<Self, Error> {
        let size = match unit {
            Unit::Packets => 1,
            Unit::Bits => 8,
        };
        if rate == 0 || burst < size {
            return Err(Error::Zero);
        }
        Ok(Self { rate: rate.into(), burst, size })
    }

    /// The time until an empty bucket is full.
    fn burst_ns(&self) -> u128 {
        u128::from(self.burst) * SECOND / self.rate
    }

    /// Whether the clock of ticks, which are up to 10 ms long, is too coarse for the burst.
    pub fn needs_exact_clock(&self) -> bool {
        self.burst_ns() < 20_000_000
    }

    /// The times in a scale.
    pub fn times(&self, scale: Scale) -> Result<Times, Error> {
        let token = (u128::from(self.size) * SECOND) << scale.finer >> scale.coarser;
        let cost = ((token + self.rate / 2) / self.rate) as u64;
        if cost < LEAST_COST {
            let most = (1 << BURST_BITS) / LEAST_COST * self.size;
            return Err(Error::Burst { burst: self.burst, most });
        }
        Ok(Times { cost, burst: cost.saturating_mul(self.burst / self.size) })
    }
}

impl Scale {
    /// The finest scale that can represent all of the bursts.
    pub fn of(all: impl IntoIterator<Item = LimitTerms>) -> Self {
        let longest = all.into_iter().map(|terms| terms.burst_ns()).max().unwrap_or_default();
        let bits = i64::from(u128::BITS - longest.leading_zeros());
        let shift = (BURST_BITS - bits).min(MOST_FINER);
        Self { finer: shift.max(0) as u32, coarser: (-shift).max(0) as u32 }
    }
}

const SECOND: u128 = 1_000_000_000;
/// Bits of a burst: it takes less than 2^36 units. Times wrap at 2^48.
const BURST_BITS: i64 = 36;
/// The finest unit is 2^-16 ns.
const MOST_FINER: i64 = 16;
/// The shortest token: of 64 units, the error is at most half a unit.
const LEAST_COST: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Per, Total};

    fn limit(rate: u64, unit: Unit, burst: u64) -> Limit {
        Limit { rate, unit, burst, per: Per::Rule, total: None }
    }

    fn times(rate: u64, unit: Unit, burst: u64) -> Result<(Scale, Times), Error> {
        let (own, _) = LimitTerms::of(&limit(rate, unit, burst))?;
        let scale = Scale::of([own]);
        Ok((scale, own.times(scale)?))
    }

    #[test]
    fn rates_are_kept() {
        for (rate, unit, burst) in [
            (1, Unit::Packets, 1),
            (1, Unit::Packets, 100_000),
            (10, Unit::Packets, 20),
            (1000, Unit::Packets, 1000),
            (10_000_000, Unit::Packets, 1),
            (14_880_000, Unit::Packets, 64_000),
            (8000, Unit::Bits, 12_000),
            (1_000_000, Unit::Bits, 1_000_000),
            (100_000_000_000, Unit::Bits, 100_000_000),
        ] {
            let (scale, times) = times(rate, unit, burst).unwrap();
            let second = (1e9 * f64::from(scale.finer).exp2()) / f64::from(scale.coarser).exp2();
            let size = if unit == Unit::Bits { 8.0 } else { 1.0 };
            let kept = second / times.cost as f64 * size;
            let error = (kept / rate as f64 - 1.0).abs();
            assert!(error < 1.0 / 128.0, "{rate} {unit:?}: {kept}");
            assert_eq!(times.burst / times.cost, burst / size as u64, "{rate} {unit:?}");
            assert!(times.burst <= 1 << 37, "{times:?}");
        }
    }

    #[test]
    fn limits_that_cannot_be_implemented_are_errors() {
        assert_eq!(times(0, Unit::Packets, 1), Err(Error::Zero));
        assert_eq!(times(1, Unit::Packets, 0), Err(Error::Zero));
        assert_eq!(times(1, Unit::Bits, 7), Err(Error::Zero));
        let error = times(1, Unit::Packets, 1 << 31).unwrap_err();
        assert!(error.to_string().contains("expected at most 1073741824"), "{error}");
    }

    #[test]
    fn short_bursts_need_the_exact_clock() {
        let is_short = |rate, unit, burst| {
            let (own, _) = LimitTerms::of(&limit(rate, unit, burst)).unwrap();
            own.needs_exact_clock()
        };
        assert!(is_short(1000, Unit::Packets, 19));
        assert!(!is_short(1000, Unit::Packets, 20));
        assert!(!is_short(1_000_000, Unit::Bits, 20_000));
    }

    /// Limit and total are represented in one scale.
    #[test]
    fn a_total_beside_the_limit() {
        for (own, total) in [((5, 10), (5_000, 100)), ((1000, 100), (1, 600)), ((1, 1), (1, 1))] {
            let total = Some(Total { rate: total.0, burst: total.1 });
            let limit = Limit { total, ..limit(own.0, Unit::Packets, own.1) };
            let (own, total) = LimitTerms::of(&limit).unwrap();
            let total = total.unwrap();
            let scale = Scale::of([own, total]);
            let second = 1e9 * f64::from(scale.finer).exp2() / f64::from(scale.coarser).exp2();
            for terms in [own, total] {
                let times = terms.times(scale).unwrap();
                let kept = second / times.cost as f64 / terms.rate as f64;
                assert!((kept - 1.0).abs() < 1.0 / 128.0, "{limit:?}: {kept}");
                assert_eq!(times.burst / times.cost, terms.burst, "{limit:?}");
                assert!(times.burst <= 1 << 37, "{limit:?}");
            }
        }
        // Ten million per second, and days: a clock of 48 bits cannot represent both.
        let total = Some(Total { rate: 1, burst: 1_000_000 });
        let far = Limit { total, ..limit(10_000_000, Unit::Packets, 100) };
        let (own, total) = LimitTerms::of(&far).unwrap();
        let scale = Scale::of([own, total.unwrap()]);
        assert_eq!(own.times(scale), Err(Error::Burst { burst: 100, most: 1 << 30 }));
    }
}
