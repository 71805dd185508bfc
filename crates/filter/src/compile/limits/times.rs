//! Rates and bursts as times: a token is the time in which it is earned, the burst the time in
//! which all of it is.
//!
//! Rule: the unit of time is a power of two nanoseconds, as fine as a 48-bit clock allows whose
//! turn is 4096 times the burst. So a rate is kept to a part in 128, mostly to one in a million.

use super::{Error, Limit, Unit};

/// What turns the clock's nanoseconds into a limit's time: << finer >> coarser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub finer: u32,
    pub coarser: u32,
}

/// Of one bucket, in the limit's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// Of one packet or byte.
    pub cost: u64,
    pub burst: u64,
}

/// A bucket as a rule says it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitTerms {
    rate: u128,
    burst: u64,
    /// Of a token, in what rate and burst count.
    size: u64,
}

impl LimitTerms {
    /// The limit's own, and the total's.
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

    /// Until an empty bucket is full.
    fn burst_ns(&self) -> u128 {
        u128::from(self.burst) * SECOND / self.rate
    }

    /// With ticks of up to 10 ms, a burst of two of them is never lost to the waiting.
    pub fn needs_exact_clock(&self) -> bool {
        self.burst_ns() < 20_000_000
    }

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
    /// In which each of the bursts can be counted.
    pub fn of(all: impl IntoIterator<Item = LimitTerms>) -> Self {
        let longest = all.into_iter().map(|said| said.burst_ns()).max().unwrap_or_default();
        let bits = i64::from(u128::BITS - longest.leading_zeros());
        let shift = (BURST_BITS - bits).min(MOST_FINER);
        Self { finer: shift.max(0) as u32, coarser: (-shift).max(0) as u32 }
    }
}

const SECOND: u128 = 1_000_000_000;
/// A burst takes less than 2^36 units; times wrap at 2^48.
const BURST_BITS: i64 = 36;
/// Finer than 2^-16 ns is not worth the clock's turning.
const MOST_FINER: i64 = 16;
/// A token of 64 units is wrong by half a unit at most.
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
    fn what_cannot_be_kept_is_refused() {
        assert_eq!(times(0, Unit::Packets, 1), Err(Error::Zero));
        assert_eq!(times(1, Unit::Packets, 0), Err(Error::Zero));
        assert_eq!(times(1, Unit::Bits, 7), Err(Error::Zero));
        let error = times(1, Unit::Packets, 1 << 31).unwrap_err();
        assert!(error.to_string().contains("take at most 1073741824"), "{error}");
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

    /// Both are kept in one scale, whichever takes longer.
    #[test]
    fn a_total_beside_the_limit() {
        for (own, total) in [((5, 10), (5_000, 100)), ((1000, 100), (1, 600)), ((1, 1), (1, 1))] {
            let total = Some(Total { rate: total.0, burst: total.1 });
            let limit = Limit { total, ..limit(own.0, Unit::Packets, own.1) };
            let (own, total) = LimitTerms::of(&limit).unwrap();
            let total = total.unwrap();
            let scale = Scale::of([own, total]);
            let second = 1e9 * f64::from(scale.finer).exp2() / f64::from(scale.coarser).exp2();
            for said in [own, total] {
                let times = said.times(scale).unwrap();
                let kept = second / times.cost as f64 / said.rate as f64;
                assert!((kept - 1.0).abs() < 1.0 / 128.0, "{limit:?}: {kept}");
                assert_eq!(times.burst / times.cost, said.burst, "{limit:?}");
                assert!(times.burst <= 1 << 37, "{limit:?}");
            }
        }
        // Seconds of ten millions, and days: no clock of 48 bits has both.
        let total = Some(Total { rate: 1, burst: 1_000_000 });
        let far = Limit { total, ..limit(10_000_000, Unit::Packets, 100) };
        let (own, total) = LimitTerms::of(&far).unwrap();
        let scale = Scale::of([own, total.unwrap()]);
        assert_eq!(own.times(scale), Err(Error::Burst { burst: 100, most: 1 << 30 }));
    }
}
