//! Rates and bursts as times: a token is the time in which it is earned, the burst the time in
//! which all of it is.
//!
//! Rule: the unit of time is a power of two nanoseconds, as fine as a 48-bit clock allows whose
//! turn is 4096 times the burst. So a rate is kept to a part in 128, mostly to one in a million.

use super::{Error, Limit, Unit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// A time is the clock's nanoseconds << finer >> coarser.
    pub finer: u32,
    pub coarser: u32,
    /// Of one packet or byte.
    pub cost: u64,
    pub burst: u64,
    /// The same in nanoseconds.
    burst_ns: u128,
}

impl Times {
    pub fn new(limit: &Limit) -> Result<Self, Error> {
        let (rate, size) = match limit.unit {
            Unit::Packets => (u128::from(limit.rate), 1),
            Unit::Bits => (u128::from(limit.rate), 8),
        };
        let tokens = limit.burst / size;
        if rate == 0 || tokens == 0 {
            return Err(Error::Zero);
        }
        let burst_ns = u128::from(limit.burst) * SECOND / rate;
        let bits = i64::from(u128::BITS - burst_ns.leading_zeros());
        let shift = (BURST_BITS - bits).min(MOST_FINER);
        let (finer, coarser) = (shift.max(0) as u32, (-shift).max(0) as u32);
        let token = (u128::from(size) * SECOND) << finer >> coarser;
        let cost = ((token + rate / 2) / rate) as u64;
        if cost < LEAST_COST {
            let most = (1 << BURST_BITS) / LEAST_COST * size;
            return Err(Error::Burst { burst: limit.burst, most });
        }
        Ok(Self { finer, coarser, cost, burst: cost.saturating_mul(tokens), burst_ns })
    }

    /// With ticks of up to 10 ms, a burst of two of them is never lost to the waiting.
    pub const fn needs_exact_clock(&self) -> bool {
        self.burst_ns < 20_000_000
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
    use crate::filter::Per;

    fn times(rate: u64, unit: Unit, burst: u64) -> Result<Times, Error> {
        Times::new(&Limit { rate, unit, burst, per: Per::Rule })
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
            let times = times(rate, unit, burst).unwrap();
            let second = (1e9 * f64::from(times.finer).exp2()) / f64::from(times.coarser).exp2();
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
        assert!(times(1000, Unit::Packets, 19).unwrap().needs_exact_clock());
        assert!(!times(1000, Unit::Packets, 20).unwrap().needs_exact_clock());
        assert!(!times(1_000_000, Unit::Bits, 20_000).unwrap().needs_exact_clock());
    }
}
