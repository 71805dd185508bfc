//! Rates, amounts and times: `1000pps`, `10mbps`, `32kbyte`, `60s`.
//!
//! Values are written in the largest unit in which they are whole numbers.

use std::time::Duration;

use packet::quantity::{self, BIT_RATES, PACKET_RATES, RateUnit, Units};

use super::Error;
use super::word::Word;
use crate::{Action, Unit};

/// Reads a rate: tokens per second, and their unit.
pub(super) fn rate(word: &Word<'_>) -> Result<(u64, Unit), Error> {
    let unit = |unit| if unit == RateUnit::Packets { Unit::Packets } else { Unit::Bits };
    let rate = quantity::rate(&word.text).and_then(|(rate, of)| Some((rate.whole()?, unit(of))));
    match rate {
        Some((0, _)) => Err(Error::at(word, "a rate of 0 passes no packet: use `drop`")),
        Some(rate) => Ok(rate),
        None => Err(Error::at(
            word,
            "invalid rate; expected packets such as 1000pps or 10kpps, or bits such as 500kbps or \
             10mbps",
        )),
    }
}

/// Reads a rate in packets per second.
pub(super) fn packet_rate(word: &Word<'_>) -> Result<u64, Error> {
    match rate(word)? {
        (rate, Unit::Packets) => Ok(rate),
        (_, Unit::Bits) => Err(Error::at(word, "expected packets per second, such as 1000pps")),
    }
}

/// Reads a burst in tokens. An amount of bits needs a unit.
pub(super) fn burst(word: &Word<'_>, unit: Unit) -> Result<u64, Error> {
    let (burst, reason) = match unit {
        Unit::Packets => (quantity::count(&word.text), "expected a number of packets, such as 200"),
        Unit::Bits => (quantity::bits(&word.text), "expected an amount such as 64kbyte or 500kbit"),
    };
    let burst = burst.ok_or_else(|| Error::at(word, reason))?;
    if burst == 0 {
        return Err(Error::at(word, "a burst of 0 passes no packet: use `drop`"));
    }
    Ok(burst)
}

/// Reads a duration: at least the resolution of the program's clock, at most `longest`; `bound` is
/// the message for a longer one.
pub(super) fn time(
    word: &Word<'_>,
    (longest, bound): (Duration, &'static str),
) -> Result<Duration, Error> {
    let whole = |time: &Duration| time.subsec_nanos().is_multiple_of(1_000_000);
    let Some(time) = quantity::time(&word.text).filter(whole) else {
        let forms = "whole milliseconds, seconds, minutes, hours, days, such as 500ms, 60s or 10m";
        return Err(Error::at(word, format!("invalid time; expected {forms}")));
    };
    if time < Action::LEAST {
        let least = show_time(Action::LEAST);
        let why =
            format!("too short: durations end in steps of up to 67 ms, so the minimum is {least}");
        return Err(Error::at(word, why));
    }
    if time > longest { Err(Error::at(word, bound)) } else { Ok(time) }
}

/// A rate as text.
pub(super) fn show_rate(rate: u64, unit: Unit) -> String {
    shown(rate, if unit == Unit::Packets { PACKET_RATES } else { BIT_RATES })
}

/// A burst as text.
pub(super) fn show_burst(burst: u64, unit: Unit) -> String {
    // A number of packets is easier to read with all digits.
    if unit == Unit::Packets { burst.to_string() } else { shown(burst, SIZES) }
}

/// A duration as text, without fractions of a millisecond: the language has none.
pub(super) fn show_time(time: Duration) -> String {
    shown(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), TIMES)
}

fn shown(amount: u64, units: Units) -> String {
    let fits = |unit: &&(&str, u64)| amount.is_multiple_of(unit.1) && amount >= unit.1;
    let (name, factor) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    format!("{}{name}", amount / factor)
}

// Units that are written, the smallest first.
const SIZES: Units = &[
    ("bit", 1),
    ("byte", 8),
    ("kbit", 1_000),
    ("kbyte", 8_000),
    ("mbit", 1_000_000),
    ("mbyte", 8_000_000),
    ("gbit", 1_000_000_000),
    ("gbyte", 8_000_000_000),
];
const TIMES: Units = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
