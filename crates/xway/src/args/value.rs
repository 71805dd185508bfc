//! Parsers of option values that several commands share, and the error of all of them.

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use packet::quantity::{self, Quantity};

/// Why the value of an option is invalid. clap prints the value and the option before it.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// The value has another form.
    #[error("expected {0}")]
    Expected(&'static str),
    /// The number is not in the range.
    #[error("expected a number from {min} to {max}{unit}")]
    Range { min: String, max: String, unit: &'static str },
    /// The time is zero or too long.
    #[error("a time must be above zero and at most a day")]
    Time,
    /// A count of frames is zero.
    #[error("a run sends at least one frame")]
    ZeroCount,
    /// A list of processors names one twice.
    #[error("each processor runs one thread: name it once")]
    RepeatedCpu,
    /// A list of processors is longer than the largest number of threads.
    #[error("at most {0} threads can send")]
    TooManyThreads(usize),
    /// A ramp has no final rate.
    #[error("a ramp ends at a number, not at `max`")]
    RampToMax,
    /// More VLAN tags than a frame can have.
    #[error("a frame has at most two VLANs")]
    TooManyVlans,
    /// The library that defines the type of the value refuses it.
    #[error("{0}")]
    Library(Box<dyn Error + Send + Sync>),
}

impl ValueError {
    /// The error for a number outside a range. The unit begins with a space, or is empty.
    pub fn range<T: fmt::Display>(range: &RangeInclusive<T>, unit: &'static str) -> Self {
        Self::Range { min: range.start().to_string(), max: range.end().to_string(), unit }
    }

    /// The error of a library.
    pub fn library(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Library(error.into())
    }
}

/// A number of 32 bits, decimal or after `0x` hexadecimal.
pub fn number(text: &str) -> Result<u32, ValueError> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| ValueError::Expected("a number of 32 bits, such as 16 or 0x10"))
}

/// A flow label of IPv6, which has 20 bits.
pub fn flow_label(text: &str) -> Result<u32, ValueError> {
    number(text)
        .ok()
        .filter(|label| *label < 1 << 20)
        .ok_or(ValueError::Expected("a flow label of 20 bits, such as 0x12345"))
}

/// A name and a value, such as `port=53`.
pub fn assignment(text: &str) -> Result<(String, String), ValueError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(ValueError::Expected("NAME=VALUE")),
    }
}

/// A time such as `250ms`, `2s`, `1.5m`, `1h`, or a number of seconds.
pub fn duration(text: &str) -> Result<Duration, ValueError> {
    let is_number = !text.ends_with(|last: char| last.is_ascii_alphabetic());
    let time = if is_number { quantity::time(&format!("{text}s")) } else { quantity::time(text) };
    let time = time.ok_or(ValueError::Expected("a number and us, ms, s, m or h, such as 500ms"))?;
    if time.is_zero() || time > LONGEST {
        return Err(ValueError::Time);
    }
    Ok(time)
}

/// A time in whole seconds.
pub fn whole_seconds(text: &str) -> Result<Duration, ValueError> {
    let time = duration(text)?;
    match time.subsec_nanos() {
        0 => Ok(time),
        _ => Err(ValueError::Expected("whole seconds, such as 60s")),
    }
}

/// An amount of memory in bytes, such as `65536`, `64KiB`, `16MiB`, `1GiB`.
pub fn memory(text: &str) -> Result<u64, ValueError> {
    let expected = "an amount of memory such as 65536, 64KiB or 16MiB";
    let bytes = quantity::memory(text).filter(|bytes| *bytes > 0);
    bytes.ok_or(ValueError::Expected(expected))
}

/// A rate in packets per second, such as `10kpps`; `10k` means the same.
pub fn packet_rate(text: &str) -> Option<f64> {
    quantity::packet_rate(text).map(Quantity::value)
}

/// A sampling rate such as `1/100`.
pub fn one_in(text: &str) -> Result<u32, ValueError> {
    let number = text.strip_prefix("1/").unwrap_or(text).parse().ok();
    number.filter(|one_in| *one_in > 0).ok_or(ValueError::Expected("1/N, such as 1/100"))
}

const LONGEST: Duration = Duration::from_secs(86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory() {
        for (text, bytes) in
            [("65536", 65_536), ("64KiB", 65_536), ("16MiB", 16 << 20), ("1.5MiB", 3 << 19)]
        {
            assert_eq!(memory(text).unwrap(), bytes);
        }
        for wrong in ["", "0", "MiB", "-1", "16MB", "16mib", "1.5", "99999999999GiB"] {
            assert!(memory(wrong).unwrap_err().to_string().contains("16MiB"), "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(duration("250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(duration("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(duration("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(duration("24h").unwrap(), Duration::from_secs(86_400));
        for wrong in ["", "s", "-1s", "0", "inf", "nan", "soon", "25h", "99999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rules_expire_after_whole_seconds() {
        assert_eq!(whole_seconds("2m").unwrap(), Duration::from_mins(2));
        assert!(whole_seconds("1500ms").is_err());
    }

    #[test]
    fn assignments() {
        assert_eq!(assignment("port=1=2").unwrap(), ("port".into(), "1=2".into()));
        assert!(assignment("=1").is_err());
        assert!(assignment("port").is_err());
    }
}
