//! The table `detect` of a filter: floods are detected, and temporary rules loaded.

use std::ops::RangeInclusive;
use std::time::Duration;

use filter::runtime::detect::Threshold;
use packet::quantity;
use serde::{Deserialize, Serialize};

use super::error::Reason;
use super::text_value::Text;
use crate::detection::AutoOptions;
use crate::detection::DetectOptions;

/// Options of `detect`, as they are written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DetectTable {
    /// Threshold of a flood: a packet rate, or a share of all packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above: Option<Text>,
    /// Time of an observation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Time of a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Longest time of a rule whose flood continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hold: Option<String>,
    /// Sources that no rule drops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Packets per second to analyze.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// Most rules at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rules: Option<usize>,
    /// Largest share of client packets that a rule may drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_collateral: Option<String>,
}

impl DetectTable {
    /// The options, with defaults for those that are not given.
    ///
    /// # Errors
    /// A value has another form, or is out of range.
    pub fn options(&self) -> Result<AutoOptions, Reason> {
        let AutoOptions { detect: default, max_hold } = AutoOptions::default();
        let above = self.above.as_ref().map(|word| &word.0);
        let detect = DetectOptions {
            above: value("above", above, Threshold::parse, THRESHOLD, default.above)?,
            time: value("time", self.time.as_ref(), observation, OBSERVATION, default.time)?,
            hold: value("hold", self.hold.as_ref(), hold, HOLD, default.hold)?,
            allow: self.allow.clone(),
            samples: number("samples", self.samples, &SAMPLES, default.samples)?,
            max_rules: number("max-rules", self.max_rules, &RULES, default.max_rules)?,
            max_collateral: value(
                "max-collateral",
                self.max_collateral.as_ref(),
                quantity::share,
                SHARE,
                default.max_collateral,
            )?,
            ..default
        };
        let default = max_hold.max(detect.hold);
        let at_least = |word: &str| hold(word).filter(|time| *time >= detect.hold);
        let max_hold = value("max-hold", self.max_hold.as_ref(), at_least, MAX_HOLD, default)?;
        Ok(AutoOptions { detect, max_hold })
    }
}

fn value<T>(
    key: &'static str,
    word: Option<&String>,
    parse: impl Fn(&str) -> Option<T>,
    expected: &'static str,
    default: T,
) -> Result<T, Reason> {
    let Some(word) = word else { return Ok(default) };
    let wrong = || Reason::Detect { key, word: word.clone(), expected: expected.to_owned() };
    parse(word).ok_or_else(wrong)
}

fn number<T: PartialOrd + Copy + std::fmt::Display>(
    key: &'static str,
    number: Option<T>,
    range: &RangeInclusive<T>,
    default: T,
) -> Result<T, Reason> {
    let Some(number) = number else { return Ok(default) };
    let expected = || format!("a number from {} to {}", range.start(), range.end());
    let wrong = || Reason::Detect { key, word: number.to_string(), expected: expected() };
    range.contains(&number).then_some(number).ok_or_else(wrong)
}

fn observation(word: &str) -> Option<Duration> {
    quantity::time(word).filter(|time| (SHORTEST_OBSERVATION..=LONGEST_OBSERVATION).contains(time))
}

fn hold(word: &str) -> Option<Duration> {
    let is_whole = |time: &Duration| time.subsec_nanos() == 0 && !time.is_zero();
    quantity::time(word).filter(|time| is_whole(time) && *time <= LONGEST_HOLD)
}

const SHORTEST_OBSERVATION: Duration = Duration::from_secs(1);
const LONGEST_OBSERVATION: Duration = Duration::from_secs(600);
const LONGEST_HOLD: Duration = Duration::from_secs(86_400);
const SAMPLES: RangeInclusive<u32> = 100..=1_000_000;
const RULES: RangeInclusive<usize> = 1..=64;
const THRESHOLD: &str = "a rate such as 50kpps, or a share of all packets such as 20%";
const OBSERVATION: &str = "a time from 1s to 10m";
const HOLD: &str = "whole seconds, such as 60s, and at most a day";
const MAX_HOLD: &str = "whole seconds, at least `hold`, and at most a day";
const SHARE: &str = "a share such as 5%";
