//! Rates and profiles as text: `1mpps`, `2.5gbps`, `max`, `10kpps..1mpps over 10s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use packet::quantity::{self, RateUnit};

use super::{Profile, Rate, Spacing};

/// Text that is not a rate, a profile, a spacing or a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RateError {
    /// Not a rate.
    #[error(
        "invalid rate \"{text}\"; expected a number and a unit, such as 500kpps, 1.5mpps or 2gbps, \
         or \"max\""
    )]
    Rate { text: String },
    /// A rate of 0.
    #[error("a rate of \"{text}\" never sends anything; use at least 1pps")]
    Zero { text: String },
    /// Not a ramp.
    #[error("invalid ramp \"{text}\"; expected FROM..TO over TIME, such as 10kpps..1mpps over 10s")]
    Ramp { text: String },
    /// A ramp to or from the highest rate.
    #[error("invalid ramp \"{text}\": it needs two numbers, and \"max\" is none")]
    RampToMax { text: String },
    /// A ramp without a duration.
    #[error("invalid ramp \"{text}\": its duration must be above 0, such as 10s")]
    RampTime { text: String },
    /// Not a spacing.
    #[error("invalid spacing \"{text}\"; expected constant, poisson or bursts:N")]
    Spacing { text: String },
    /// Not a duration.
    #[error("invalid duration \"{text}\"; expected a number and us, ms, s, m or h, such as 500ms")]
    Duration { text: String },
}

impl FromStr for Rate {
    type Err = RateError;

    /// A decimal number and `pps`, `kpps`, `mpps`, `gpps`, or `bps` and so on; or `max`. Case does
    /// not matter.
    fn from_str(text: &str) -> Result<Self, RateError> {
        let fail = || RateError::Rate { text: text.to_owned() };
        let word = text.trim();
        if word.eq_ignore_ascii_case("max") {
            return Ok(Self::Max);
        }
        let (rate, unit) = quantity::rate(word).ok_or_else(fail)?;
        let value = rate.value();
        if value <= 0.0 {
            return Err(RateError::Zero { text: text.to_owned() });
        }
        Ok(match unit {
            RateUnit::Packets => Self::PacketsPerSecond(value),
            RateUnit::Bits => Self::BitsPerSecond(value),
        })
    }
}

impl fmt::Display for Rate {
    /// Text that parses to the same rate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self {
            Self::PacketsPerSecond(value) => (*value, "pps"),
            Self::BitsPerSecond(value) => (*value, "bps"),
            Self::Max => return f.pad("max"),
        };
        let (scaled, prefix) = shortest(value);
        f.pad(&format!("{scaled}{prefix}{unit}"))
    }
}

impl FromStr for Profile {
    type Err = RateError;

    /// `RATE` or `FROM..TO over TIME`.
    fn from_str(text: &str) -> Result<Self, RateError> {
        let whole = || text.to_owned();
        let Some((from, rest)) = text.split_once("..") else {
            return Ok(Self::from(text.parse::<Rate>()?));
        };
        let (to, time) =
            rest.split_once("over").ok_or_else(|| RateError::Ramp { text: whole() })?;
        let (rate, to): (Rate, Rate) = (from.parse()?, to.parse()?);
        if [rate, to].contains(&Rate::Max) {
            return Err(RateError::RampToMax { text: whole() });
        }
        let time = duration(time.trim())?;
        if time.is_zero() {
            return Err(RateError::RampTime { text: whole() });
        }
        Ok(Self { ramp: Some((to, time)), ..Self::from(rate) })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ramp {
            Some((to, time)) => write!(f, "{}..{to} over {}s", self.rate, time.as_secs_f64()),
            None => self.rate.fmt(f),
        }
    }
}

impl FromStr for Spacing {
    type Err = RateError;

    /// `constant`, `poisson` or `bursts:N`.
    fn from_str(text: &str) -> Result<Self, RateError> {
        let fail = || RateError::Spacing { text: text.to_owned() };
        match text {
            "constant" => return Ok(Self::Constant),
            "poisson" => return Ok(Self::Poisson),
            _ => {}
        }
        let frames = text.strip_prefix("bursts:").and_then(|frames| frames.parse().ok());
        frames.filter(|frames| *frames > 0).map(Self::Bursts).ok_or_else(fail)
    }
}

impl fmt::Display for Spacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.pad("constant"),
            Self::Poisson => f.pad("poisson"),
            Self::Bursts(frames) => write!(f, "bursts:{frames}"),
        }
    }
}

/// A time such as `500ms`.
fn duration(text: &str) -> Result<Duration, RateError> {
    quantity::time(text).ok_or_else(|| RateError::Duration { text: text.to_owned() })
}

/// The value in the largest unit that needs at most three decimal places.
fn shortest(value: f64) -> (f64, &'static str) {
    let units = [("g", 1e9), ("m", 1e6), ("k", 1e3)];
    let fits = |scale: f64| value >= scale && decimal_places(value / scale) <= 3;
    units
        .into_iter()
        .find(|(_, scale)| fits(*scale) && value / scale * scale == value)
        .map_or((value, ""), |(prefix, scale)| (value / scale, prefix))
}

fn decimal_places(value: f64) -> usize {
    value.to_string().split_once('.').map_or(0, |(_, places)| places.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_exactly() {
        use Rate::{BitsPerSecond as Bps, Max, PacketsPerSecond as Pps};
        for (text, rate) in [
            ("1mpps", Pps(1e6)),
            ("500kpps", Pps(5e5)),
            ("100pps", Pps(100.0)),
            ("0.3Mpps", Pps(300_000.0)),
            ("1.000001mpps", Pps(1_000_001.0)),
            ("2gbps", Bps(2e9)),
            ("14.88MPPS", Pps(14_880_000.0)),
            (" 64kbps ", Bps(64_000.0)),
            ("max", Max),
            ("MAX", Max),
        ] {
            assert_eq!(text.parse::<Rate>().as_ref(), Ok(&rate), "{text}");
            assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate), "{rate}");
        }
    }

    #[test]
    fn invalid_rates_are_rejected() {
        for text in ["", "1", "mpps", "1 mpps", "-1pps", "1e6pps", "1xpps", "1.2.3pps", "infpps"] {
            let error = text.parse::<Rate>().unwrap_err();
            assert_eq!(error, RateError::Rate { text: text.to_owned() });
            assert!(error.to_string().contains("500kpps"), "{text}: {error}");
        }
        for text in ["0pps", "0kbps"] {
            let error = RateError::Zero { text: text.to_owned() };
            assert_eq!(text.parse::<Rate>(), Err(error));
        }
    }

    #[test]
    fn texts_of_rates_are_short() {
        for (value, text) in
            [(1e6, "1mpps"), (1500.0, "1.5kpps"), (999.0, "999pps"), (1_000_001.0, "1000.001kpps")]
        {
            assert_eq!(Rate::PacketsPerSecond(value).to_string(), text);
        }
    }

    #[test]
    fn profiles_are_rates_or_ramps() {
        let ramp: Profile = "10kpps..1mpps over 1.5s".parse().unwrap();
        assert_eq!(ramp.rate, Rate::PacketsPerSecond(1e4));
        let end = (Rate::PacketsPerSecond(1e6), Duration::from_millis(1500));
        assert_eq!(ramp.ramp, Some(end));
        assert_eq!(ramp.to_string().parse::<Profile>(), Ok(ramp));
        assert_eq!("max".parse::<Profile>(), Ok(Profile::from(Rate::Max)));
        type Reason = fn(String) -> RateError;
        let wrong: [(&str, &str, Reason); 4] = [
            ("1pps..2pps", "1pps..2pps", |text| RateError::Ramp { text }),
            ("1pps..max over 1s", "1pps..max over 1s", |text| RateError::RampToMax { text }),
            ("1pps..2pps over 0s", "1pps..2pps over 0s", |text| RateError::RampTime { text }),
            ("1pps.. over 2s", " ", |text| RateError::Rate { text }),
        ];
        for (text, part, reason) in wrong {
            assert_eq!(text.parse::<Profile>(), Err(reason(part.to_owned())), "{text}");
        }
    }

    #[test]
    fn spacings_have_names() {
        for spacing in [Spacing::Constant, Spacing::Poisson, Spacing::Bursts(64)] {
            assert_eq!(spacing.to_string().parse(), Ok(spacing));
        }
        for text in ["", "bursts", "bursts:0", "bursts:x"] {
            let error = RateError::Spacing { text: text.to_owned() };
            assert_eq!(text.parse::<Spacing>(), Err(error));
        }
    }
}
