//! Converts timestamps in an interface's own unit to nanoseconds since 1970.
//!
//! Not here: which interface a packet belongs to.

/// `if_tsresol` and `if_tsoffset` of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Unit of timestamps.
    pub unit: Unit,
    /// Seconds that are added to every timestamp (`if_tsoffset`).
    pub offset_s: i64,
}

/// How long one step of a timestamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 10^-n seconds.
    Decimal(u8),
    /// 2^-n seconds, n < 128.
    Binary(u8),
}

impl Default for Clock {
    fn default() -> Self {
        Self { unit: Unit::Decimal(6), offset_s: 0 }
    }
}

impl Unit {
    /// From the one byte of `if_tsresol`.
    pub fn new(resolution: u8) -> Self {
        match resolution & 0x80 {
            0 => Self::Decimal(resolution),
            _ => Self::Binary(resolution & 0x7f),
        }
    }

    /// Rounded down.
    fn ns(self, steps: u64) -> u128 {
        // 2^64 steps of a second are below 2^94 ns.
        let steps = u128::from(steps);
        match self {
            Self::Decimal(power @ 0..9) => steps * 10u128.pow(9 - u32::from(power)),
            Self::Decimal(power) => {
                10u128.checked_pow(u32::from(power) - 9).map_or(0, |divisor| steps / divisor)
            }
            Self::Binary(power) => (steps * 1_000_000_000) >> power,
        }
    }
}

impl Clock {
    /// `None` when it is before 1970 or after 2554, which 64 bits of nanoseconds do not reach.
    pub fn ns(self, steps: u64) -> Option<u64> {
        if self == (Self { unit: Unit::Decimal(9), offset_s: 0 }) {
            return Some(steps);
        }
        // Below 2^95 each: no sum of them overflows.
        let ns = self.unit.ns(steps) as i128 + i128::from(self.offset_s) * 1_000_000_000;
        u64::try_from(ns).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        let year_2024 = 1_704_067_200;
        for (name, resolution, offset_s, steps, expected) in [
            ("seconds", 0, 0, year_2024, Some(1_704_067_200_000_000_000)),
            ("milliseconds", 3, 0, 5, Some(5_000_000)),
            ("microseconds", 6, 0, 7, Some(7_000)),
            ("nanoseconds", 9, 0, u64::MAX, Some(u64::MAX)),
            ("picoseconds round down", 12, 0, 12_999, Some(12)),
            ("the finest decimal", 127, 0, u64::MAX, Some(0)),
            ("halves", 0x81, 0, 3, Some(1_500_000_000)),
            ("1/1024", 0x8a, 0, 1025, Some(1_000_976_562)),
            ("NTP's", 0xa0, 0, (1 << 32) + (1 << 31), Some(1_500_000_000)),
            ("the finest binary", 0xff, 0, u64::MAX, Some(0)),
            ("binary seconds", 0x80, 0, 2, Some(2_000_000_000)),
            ("later", 6, 100, 1, Some(100_000_001_000)),
            ("earlier", 9, -1, 1_000_000_001, Some(1)),
            ("to the start of 1970", 0, -5, 5, Some(0)),
            ("before 1970", 9, -1, 999_999_999, None),
            ("long before", 0, i64::MIN, u64::MAX, None),
            ("last second of 64 bits", 0, 0, 18_446_744_073, Some(18_446_744_073_000_000_000)),
            ("one after", 0, 0, 18_446_744_074, None),
            ("furthest", 0, i64::MAX, u64::MAX, None),
        ] {
            let clock = Clock { unit: Unit::new(resolution), offset_s };
            assert_eq!(clock.ns(steps), expected, "{name}");
        }
    }
}
