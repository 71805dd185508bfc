//! Options of the detection of floods.

use std::time::Duration;

use filter::Scope;
use filter::runtime::detect::{Settings, Threshold};
use kernel::Mode;

use crate::error::{Context as _, Result};

/// What counts as a flood, and which rules may be loaded against it.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectOptions {
    /// Rate above which traffic is a flood.
    pub above: Threshold,
    /// Time of an observation.
    pub time: Duration,
    /// Time of a rule.
    pub hold: Duration,
    /// Sources that no rule drops: addresses, prefixes, or sets of the filter as `@NAME`.
    pub allow: Vec<String>,
    /// Packets per second to analyze; of more, a random sample.
    pub samples: u32,
    /// Packets of an observation that are kept.
    pub kept: usize,
    /// Rows of each list of the busiest patterns.
    pub top: usize,
    /// Most rules to load.
    pub max_rules: usize,
    /// Largest share of client packets that a loaded rule may drop, from 0 to 1.
    pub max_collateral: f64,
    /// Mode of a program on an interface without a filter; `None`: native.
    pub mode: Option<Mode>,
}

impl Default for DetectOptions {
    fn default() -> Self {
        Self {
            above: Threshold::Pps(10_000),
            time: Duration::from_secs(10),
            hold: Duration::from_secs(60),
            allow: Vec::new(),
            samples: 20_000,
            kept: 1 << 16,
            top: 5,
            max_rules: 4,
            max_collateral: 0.05,
            mode: None,
        }
    }
}

impl DetectOptions {
    /// Settings of a detection, with the sets of these rules.
    ///
    /// # Errors
    /// An allowed source is not valid, or the rules have no such set.
    pub fn settings(&self, scope: &Scope) -> Result<Settings> {
        let mut settings = Settings {
            threshold: self.above,
            hold: self.hold,
            most: MOST_FINDINGS,
            top: self.top,
            allowed: Vec::new(),
        };
        for what in &self.allow {
            let shown = || format!("`{what}` is not a source that can be allowed");
            settings.allow(what, scope).with_context(shown)?;
        }
        Ok(settings)
    }
}

/// When floods are detected, and for how long rules hold.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoOptions {
    pub detect: DetectOptions,
    /// Longest time of a rule that is extended.
    pub max_hold: Duration,
}

impl Default for AutoOptions {
    fn default() -> Self {
        // Several observations may run at the same time in a small process.
        let detect = DetectOptions { kept: 1 << 14, ..DetectOptions::default() };
        Self { detect, max_hold: Duration::from_secs(600) }
    }
}

/// Largest number of findings.
const MOST_FINDINGS: usize = 8;
