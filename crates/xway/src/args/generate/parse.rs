//! Words of `gen` that mean more than one thing.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use traffic::stream::{Value, ValueError};
use traffic::{Rate, limits};

use super::frame::{Bytes, Vlans};
use crate::args::attach::duration;

/// `10.0.0.2`, `10.0.0.2:53`, `10.0.0.0/24:1000..1999`, `[fd00::2]:53`; what varies may have its
/// order in front, as in `random:10.0.0.0/8:53`.
#[derive(Clone, Debug, PartialEq)]
pub struct Destination {
    pub address: Value,
    pub port: Option<Value>,
}

/// Processors. A type of its own, so that it is one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (order, rest) = order(text);
        let (address, port) = match rest.strip_prefix('[') {
            Some(inner) => {
                let (address, behind) = inner.split_once(']').ok_or(DESTINATION)?;
                let port = behind.strip_prefix(':');
                if port.is_none() && !behind.is_empty() {
                    return Err(DESTINATION.to_owned());
                }
                (address, port)
            }
            // More colons are an IPv6 address that has no port behind it.
            None if rest.matches(':').count() == 1 => {
                rest.split_once(':').map_or((rest, None), |(address, port)| (address, Some(port)))
            }
            None => (rest, None),
        };
        if address.is_empty() || port.is_some_and(str::is_empty) {
            return Err(DESTINATION.to_owned());
        }
        let address = value(&format!("{order}{address}")).map_err(|error| error.to_string())?;
        let port = port.map(value).transpose().map_err(|error| error.to_string())?;
        Ok(Self { address, port })
    }
}

/// `random:`, `zipf=1.1:` and so on, and what is behind it.
fn order(text: &str) -> (&str, &str) {
    let known = |word: &str| ["random", "sequence"].contains(&word) || word.starts_with("zipf=");
    match text.split_once(':') {
        Some((word, _)) if known(word) => text.split_at(word.len() + 1),
        _ => ("", text),
    }
}

/// Constant or varying. (clap by itself would take the text as one constant.)
pub fn value(text: &str) -> Result<Value, ValueError> {
    text.parse()
}

/// `1000`, `10k`, `5m`, `1g`.
pub fn count(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let scales = [('k', 1_000), ('m', 1_000_000), ('g', 1_000_000_000)];
    let scaled = scales.iter().find_map(|(letter, by)| Some((lower.strip_suffix(*letter)?, *by)));
    let (digits, by) = scaled.unwrap_or((&lower, 1));
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(by));
    let number = number.ok_or_else(|| {
        format!("`{text}` is not a count: expected a number such as 1000, 10k or 5m")
    })?;
    if number == 0 { Err("a run sends at least one frame".to_owned()) } else { Ok(number) }
}

/// `2`, `0.5`.
pub fn factor(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("`{text}` is not a factor: expected a number above zero"))
}

/// `0,2..3`.
pub fn cpus(text: &str) -> Result<Cpus, String> {
    let wrong = || format!("`{text}` is not a list of processors: expected a list such as 0,2..3");
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once("..").or(part.split_once('-')).unwrap_or((part, part));
        let [first, last] = [first, last].map(|word| word.trim().parse::<usize>());
        let (first, last) = (first.map_err(|_| wrong())?, last.map_err(|_| wrong())?);
        if first > last || last >= CPU_MAX {
            return Err(wrong());
        }
        all.extend(first..=last);
    }
    let mut sorted = all.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < all.len() {
        return Err("each processor runs one thread: name it once".to_owned());
    }
    if all.len() > limits::THREADS {
        return Err(format!("at most {} threads send", limits::THREADS));
    }
    Ok(Cpus(all))
}

pub fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=limits::THREADS).contains(number));
    number.ok_or_else(|| format!("write a number from 1 to {}", limits::THREADS))
}

/// `1mpps:10s`.
pub fn ramp(text: &str) -> Result<(Rate, Duration), String> {
    let (rate, time) = text.split_once(':').ok_or("write it as RATE:TIME, such as 1mpps:10s")?;
    let rate = rate.parse::<Rate>().map_err(|error| error.to_string())?;
    if rate == Rate::Max {
        return Err("a ramp ends at a number; `max` is none".to_owned());
    }
    Ok((rate, duration(time)?))
}

/// `1024..32767`.
pub fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let ports = first.parse().ok().zip(last.parse().ok());
    let ports = ports.filter(|(first, last)| *first > 0 && first <= last);
    let ports = ports.ok_or_else(|| {
        format!("`{text}` is not a range of ports: expected a range such as 1024..32767")
    });
    ports.map(|(first, last)| first..=last)
}

/// `7`, `100:7`.
pub fn vlans(text: &str) -> Result<Vlans, String> {
    let ids = text.split(':').map(value).collect::<Result<Vec<_>, _>>();
    let ids = ids.map_err(|error| error.to_string())?;
    if ids.len() > 2 { Err("at most two VLANs".to_owned()) } else { Ok(Vlans(ids)) }
}

/// Bytes; blanks and colons do not count.
pub fn hex(text: &str) -> Result<Bytes, String> {
    let plain: Vec<u8> = text.bytes().filter(|byte| !b" \t\n:".contains(byte)).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = plain.as_chunks::<2>();
    let bytes = pairs.0.iter().map(|[high, low]| Some((digit(*high)? * 16 + digit(*low)?) as u8));
    let bytes: Option<Vec<u8>> = bytes.collect();
    let bytes = bytes.filter(|bytes| pairs.1.is_empty() && !bytes.is_empty());
    bytes.map(Bytes).ok_or_else(|| "write bytes as pairs of digits 0 to 9 and a to f".to_owned())
}

const DESTINATION: &str = "write an address, a port behind it with a colon, and brackets around \
                           an IPv6 address that has a port: [fd00::2]:53";
const CPU_MAX: usize = 4096;
