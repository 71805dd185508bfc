//! Quantities as text: rates, times, counts and amounts of memory.
//!
//! Rule: every option, rule and file that contains a quantity is read here, so that all of them
//! accept the same numbers and units. Numbers are decimal, with at most one point, and `_` may
//! separate digits; `1.5k` is as exact as `1500`. Not here: bounds of values, and error messages,
//! which depend on what a value is for.
//!
//! | quantity | units | case matters |
//! |---|---|---|
//! | rate of packets | `pps`, `kpps`, `mpps`, `gpps` | no |
//! | rate of bits | `bps`, `kbps`, `mbps`, `gbps` | no |
//! | time | `ns`, `us`, `ms`, `s`, `m`, `min`, `h`, `d` | yes |
//! | count | none, `k`, `m`, `g` | no |
//! | memory | none (bytes), `KiB`, `MiB`, `GiB` | yes |
//! | share | `%` | |
//! | amount of traffic | `bit`, `byte` with `k`, `m`, `g`; `KiB`, `MiB`, `GiB` | no |

use std::time::Duration;

/// A number with a unit, in the smallest unit of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The number without its point, times the unit.
    scaled: u128,
    /// Digits after the point.
    places: u32,
}

impl Quantity {
    /// The value; `None` if it is not a whole number, or too large.
    pub fn whole(self) -> Option<u64> {
        let divisor = 10_u128.checked_pow(self.places)?;
        let whole = self.scaled.is_multiple_of(divisor).then(|| self.scaled / divisor)?;
        u64::try_from(whole).ok()
    }

    /// The nearest floating-point number.
    pub fn value(self) -> f64 {
        // Parsing rounds once, however many digits there are.
        format!("{}e-{}", self.scaled, self.places).parse().unwrap_or(f64::INFINITY)
    }

    /// A time as a duration; `None` if it is too long. Fractions of a nanosecond are cut off.
    fn duration(self) -> Option<Duration> {
        let nanoseconds = self.scaled / 10_u128.checked_pow(self.places)?;
        let seconds = u64::try_from(nanoseconds / NS_PER_SECOND).ok()?;
        Some(Duration::new(seconds, u32::try_from(nanoseconds % NS_PER_SECOND).ok()?))
    }
}

/// The kind of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Packets per second.
    Packets,
    /// Bits per second.
    Bits,
}

/// A rate per second, such as `10kpps` or `1.5gbps`.
pub fn rate(text: &str) -> Option<(Quantity, RateUnit)> {
    let text = text.to_ascii_lowercase();
    let packets = read(&text, PACKET_RATES).map(|rate| (rate, RateUnit::Packets));
    packets.or_else(|| read(&text, BIT_RATES).map(|rate| (rate, RateUnit::Bits)))
}

/// Packets per second, such as `10kpps`, or a count such as `10k`.
pub fn packet_rate(text: &str) -> Option<Quantity> {
    match rate(text) {
        Some((rate, RateUnit::Packets)) => Some(rate),
        Some(_) => None,
        None => read(&text.to_ascii_lowercase(), COUNTS),
    }
}

/// A time, such as `250ms`, `1.5h` or `2min`.
pub fn time(text: &str) -> Option<Duration> {
    read(text, TIMES)?.duration()
}

/// A count, such as `1000`, `10k` or `1.5m`.
pub fn count(text: &str) -> Option<u64> {
    read(&text.to_ascii_lowercase(), COUNTS)?.whole()
}

/// An amount of memory in bytes, such as `65536`, `64KiB` or `1.5GiB`.
pub fn memory(text: &str) -> Option<u64> {
    read(text, MEMORY)?.whole()
}

/// An amount of traffic in bits, such as `64kbyte`, `500kbit` or `64KiB`.
pub fn bits(text: &str) -> Option<u64> {
    read(&text.to_ascii_lowercase(), BITS)?.whole()
}

/// A share of a whole, such as `5%` or `0.5%`, as a number from 0 to 1.
pub fn share(text: &str) -> Option<f64> {
    let share = read(text, PERCENT)?.value() / 100.0;
    (share <= 1.0).then_some(share)
}

/// Names of units, with their size in the smallest unit.
pub type Units = &'static [(&'static str, u64)];

fn read(text: &str, units: Units) -> Option<Quantity> {
    let is_unit = |letter: char| letter.is_ascii_alphabetic() || letter == '%';
    let end = text.find(is_unit).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let begins = whole.starts_with(|first: char| first.is_ascii_digit());
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if !begins || !plain(whole) || !plain(fraction) || number.ends_with('.') {
        return None;
    }
    let digits = |text: &str| text.replace('_', "");
    let (whole, fraction) = (digits(whole), digits(fraction));
    let number: u128 = format!("{whole}{fraction}").parse().ok()?;
    let places = u32::try_from(fraction.len()).ok()?;
    Some(Quantity { scaled: number.checked_mul(u128::from(*factor))?, places })
}

const NS_PER_SECOND: u128 = 1_000_000_000;

/// Units of rates of packets, the smallest first.
pub const PACKET_RATES: Units =
    &[("pps", 1), ("kpps", 1_000), ("mpps", 1_000_000), ("gpps", 1_000_000_000)];
/// Units of rates of bits, the smallest first.
pub const BIT_RATES: Units =
    &[("bps", 1), ("kbps", 1_000), ("mbps", 1_000_000), ("gbps", 1_000_000_000)];
const TIMES: Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];
const COUNTS: Units = &[("", 1), ("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000)];
const MEMORY: Units = &[("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
const PERCENT: Units = &[("%", 1)];
const BITS: Units = &[
    ("bit", 1),
    ("byte", 8),
    ("kbit", 1_000),
    ("kbyte", 8_000),
    ("mbit", 1_000_000),
    ("mbyte", 8_000_000),
    ("gbit", 1_000_000_000),
    ("gbyte", 8_000_000_000),
    ("kib", 8 << 10),
    ("mib", 8 << 20),
    ("gib", 8 << 30),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact() {
        use RateUnit::{Bits, Packets};
        for (text, whole, value, unit) in [
            ("1pps", Some(1), 1.0, Packets),
            ("0.3Mpps", Some(300_000), 300_000.0, Packets),
            ("14.88MPPS", Some(14_880_000), 14_880_000.0, Packets),
            ("0.1pps", None, 0.1, Packets),
            ("1_000kpps", Some(1_000_000), 1e6, Packets),
            ("2.5gbps", Some(2_500_000_000), 2.5e9, Bits),
            ("0bps", Some(0), 0.0, Bits),
        ] {
            let (rate, of) = rate(text).unwrap();
            assert_eq!((rate.whole(), rate.value(), of), (whole, value, unit), "{text}");
        }
        for text in ["", "1", "mpps", "1 mpps", "-1pps", "+1pps", "1e6pps", "1xpps", "1.2.3pps"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, ns) in [
            ("5ns", 5),
            ("250us", 250_000),
            ("500ms", 500_000_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("2min", 120_000_000_000),
            ("0.5ns", 0),
        ] {
            assert_eq!(time(text), Some(Duration::from_nanos(ns)), "{text}");
        }
        assert_eq!(time("2d"), Some(Duration::from_secs(172_800)));
        for text in
            ["", "s", "1", "1S", "-1s", "1e9s", ".5s", "5.s", "_1s", "9".repeat(40).as_str()]
        {
            assert_eq!(time(text), None, "{text}");
        }
        assert_eq!(time(&format!("{}h", u128::MAX)), None);
        assert_eq!(time(&format!("{}ns", u128::MAX)), None);
    }

    #[test]
    fn counts_and_amounts() {
        assert_eq!(
            [count("1000"), count("10K"), count("1.5m")],
            [1000, 10_000, 1_500_000].map(Some)
        );
        assert_eq!([count("1.5"), count("k"), count("1kpps")], [None; 3]);
        let sizes = [memory("65536"), memory("64KiB"), memory("1.5MiB"), memory("2GiB")];
        assert_eq!(sizes, [65_536, 65_536, 3 << 19, 2 << 30].map(Some));
        assert_eq!([memory("16MB"), memory("16mib"), memory("99999999999GiB")], [None; 3]);
        let shares = [share("5%"), share("0.5%"), share("100%"), share("0%")];
        assert_eq!(shares, [0.05, 0.005, 1.0, 0.0].map(Some));
        assert_eq!([share("101%"), share("5"), share("-5%"), share("%")], [None; 4]);
        let amounts = [bits("64kbyte"), bits("1mbit"), bits("64KiB"), bits("12byte")];
        assert_eq!(amounts, [512_000, 1_000_000, 524_288, 96].map(Some));
    }
}
