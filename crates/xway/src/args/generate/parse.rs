//! Values of `gen` options that have several parts.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use packet::quantity;
use traffic::stream::Value;
use traffic::{Rate, limits};

use crate::args::value::{ValueError, duration};

/// Destination such as `10.0.0.2`, `10.0.0.2:53`, `10.0.0.0/24:1000..1999`, `[fd00::2]:53`. The
/// order of varying values may precede it, as in `random:10.0.0.0/8:53`.
#[derive(Clone, Debug, PartialEq)]
pub struct Destination {
    pub address: Value,
    pub port: Option<Value>,
}

/// Numbers of processors. (clap would take a plain vector for a repeated option.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

/// VLAN IDs, the outer one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Vlans(pub Vec<Value>);

/// Bytes of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl FromStr for Destination {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (order, rest) = order(text);
        let (address, port) = match rest.strip_prefix('[') {
            Some(inner) => {
                let (address, after) = inner.split_once(']').ok_or(DESTINATION)?;
                let port = after.strip_prefix(':');
                if port.is_none() && !after.is_empty() {
                    return Err(DESTINATION);
                }
                (address, port)
            }
            // More colons are part of an IPv6 address without a port.
            None if rest.matches(':').count() == 1 => {
                rest.split_once(':').map_or((rest, None), |(address, port)| (address, Some(port)))
            }
            None => (rest, None),
        };
        if address.is_empty() || port.is_some_and(str::is_empty) {
            return Err(DESTINATION);
        }
        let address = value(&format!("{order}{address}"))?;
        Ok(Self { address, port: port.map(value).transpose()? })
    }
}

/// Splits off the order of varying values: `random:`, `sequence:` or `zipf=1.1:`.
fn order(text: &str) -> (&str, &str) {
    let known = |word: &str| ["random", "sequence"].contains(&word) || word.starts_with("zipf=");
    match text.split_once(':') {
        Some((word, _)) if known(word) => text.split_at(word.len() + 1),
        _ => ("", text),
    }
}

/// A constant or varying value. (clap would otherwise take the text as one constant.)
pub fn value(text: &str) -> Result<Value, ValueError> {
    text.parse().map_err(ValueError::library)
}

/// A number of frames such as `1000`, `10k`, `5m`, `1g`.
pub fn count(text: &str) -> Result<u64, ValueError> {
    match quantity::count(text) {
        Some(0) => Err(ValueError::ZeroCount),
        Some(number) => Ok(number),
        None => Err(ValueError::Expected("a number such as 1000, 10k or 5m")),
    }
}

/// A factor such as `2` or `0.5`.
pub fn factor(text: &str) -> Result<f64, ValueError> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or(ValueError::Expected("a factor above zero, such as 2 or 0.5"))
}

/// A list of processors such as `0,2..3`.
pub fn cpus(text: &str) -> Result<Cpus, ValueError> {
    let wrong = ValueError::Expected("a list of processors such as 0,2..3");
    let Some(all) = text.split(',').map(cpu_range).collect::<Option<Vec<_>>>() else {
        return Err(wrong);
    };
    let all: Vec<usize> = all.into_iter().flatten().collect();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < all.len() {
        return Err(ValueError::RepeatedCpu);
    }
    if all.len() > limits::THREADS {
        return Err(ValueError::TooManyThreads(limits::THREADS));
    }
    Ok(Cpus(all))
}

fn cpu_range(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once("..").or(text.split_once('-')).unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last && last < CPU_MAX).then_some(first..=last)
}

/// A number of sending threads.
pub fn threads(text: &str) -> Result<usize, ValueError> {
    let range = 1..=limits::THREADS;
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| ValueError::range(&range, ""))
}

/// A final rate and the time until it is reached, such as `1mpps:10s`.
pub fn ramp(text: &str) -> Result<(Rate, Duration), ValueError> {
    let parts = text.split_once(':');
    let (rate, time) = parts.ok_or(ValueError::Expected("RATE:TIME, such as 1mpps:10s"))?;
    let rate = rate.parse::<Rate>().map_err(ValueError::library)?;
    if rate == Rate::Max {
        return Err(ValueError::RampToMax);
    }
    Ok((rate, duration(time)?))
}

/// A range of ports such as `1024..32767`.
pub fn ports(text: &str) -> Result<RangeInclusive<u16>, ValueError> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let ports = first.parse().ok().zip(last.parse().ok());
    let ports = ports.filter(|(first, last)| *first > 0 && first <= last);
    let ports = ports.ok_or(ValueError::Expected("a range of ports such as 1024..32767"));
    ports.map(|(first, last)| first..=last)
}

/// One or two VLAN IDs, such as `7` or `100:7`.
pub fn vlans(text: &str) -> Result<Vlans, ValueError> {
    let ids = text.split(':').map(value).collect::<Result<Vec<Value>, _>>()?;
    if ids.len() > 2 { Err(ValueError::TooManyVlans) } else { Ok(Vlans(ids)) }
}

/// Bytes in hexadecimal, at least one.
pub fn hex(text: &str) -> Result<Bytes, ValueError> {
    let bytes = control::inventory::hex(text).map_err(ValueError::library)?;
    if bytes.is_empty() {
        return Err(ValueError::Expected("at least one byte in hexadecimal"));
    }
    Ok(Bytes(bytes))
}

const DESTINATION: ValueError = ValueError::Expected(
    "an address, optionally followed by a colon and a port, with brackets around an IPv6 address \
     that has a port: [fd00::2]:53",
);
const CPU_MAX: usize = 4096;
