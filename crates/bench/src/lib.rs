//! Measurements of XDP: scenarios on namespaces or on named network cards, and the method that they
//! share.
//!
//! Rule: every number goes through the [`Harness`], so that it comes from interleaved rounds; what
//! cannot be measured is reported as absent, never as zero. A scenario is one file with a
//! `SCENARIO` and one line in [`SCENARIOS`]. Not here: statistics and figures (`report`), arguments
//! and printing (the binary).
#![forbid(unsafe_code)]

pub mod field;
mod harness;
pub mod hook;
pub mod load;
mod machine;
mod micro;
mod nic;
pub mod path;
mod progress;
mod scenario;
mod selection;
mod testbed;
mod transient;

pub use harness::{Arm, Harness, ROUNDS, SECONDS, Value};
pub use progress::{Measurement, Plan, Progress, Silent};
pub use scenario::{balancer, router};
pub use selection::{Pattern, Selection};
pub use testbed::Testbed;
pub use transient::Transient;

use anyhow::{Result, bail};
use report::Bench;
use serde::Serialize;

use machine::CpuWatch;

/// All scenarios in the order of the list: first those with figures, then parts of the project.
pub const SCENARIOS: &[Scenario] = &[
    scenario::drop::SCENARIO,
    scenario::pass::SCENARIO,
    scenario::forward::SCENARIO,
    scenario::router::SCENARIO,
    scenario::ddos::SCENARIO,
    scenario::scale::SCENARIO,
    scenario::cpu::SCENARIO,
    scenario::latency::SCENARIO,
    scenario::balancer::SCENARIO,
    micro::chain::SCENARIO,
    micro::drop_cost::SCENARIO,
    micro::filter::SCENARIO,
    micro::gen_cost::SCENARIO,
    micro::gen_pacing::SCENARIO,
    micro::gen_tcp::SCENARIO,
    micro::gen_udp::SCENARIO,
    micro::gen_watch::SCENARIO,
    micro::noise::SCENARIO,
    micro::vm_interp::SCENARIO,
    micro::xsk::SCENARIO,
    micro::xsk_wait::SCENARIO,
];

/// A measurement that is run by name.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Scenario {
    /// The name on the command line.
    pub name: &'static str,
    /// Whether it is a figure or a part of the project.
    pub kind: Kind,
    /// A description of one line.
    pub about: &'static str,
    /// Rounds and seconds unless the user chooses others.
    #[serde(flatten)]
    pub effort: Effort,
    #[serde(skip)]
    run: fn(&mut Harness, &Testbed) -> Result<Bench>,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effort {
    /// Counted rounds.
    pub rounds: usize,
    /// Seconds of each turn.
    pub seconds: f64,
}

impl Effort {
    /// For arms whose set-up takes longer than their window.
    pub const USUAL: Self = Self { rounds: 5, seconds: 0.5 };
    /// For rates whose ratios matter: a disturbance lasts about as long as a turn, so that it
    /// spoils some rounds, which a median ignores, instead of a part of each.
    pub const SHORT: Self = Self { rounds: 25, seconds: 0.15 };
}

/// The purpose of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A figure that compares XDP with alternatives.
    Picture,
    /// A part of the project alone, or the machine.
    Part,
}

impl Scenario {
    /// Finds a scenario by name.
    ///
    /// # Errors
    /// When there is none of that name; the error lists all names.
    pub fn find(name: &str) -> Result<&'static Self> {
        match SCENARIOS.iter().find(|scenario| scenario.name == name) {
            Some(scenario) => Ok(scenario),
            None => {
                let names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
                bail!("unknown scenario \"{name}\"; expected one of: {}", names.join(", "))
            }
        }
    }

    /// Runs the scenario.
    ///
    /// # Errors
    /// When its testbed cannot be set up, or no arm can be measured.
    pub fn run(&self, harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
        if self.kind == Kind::Part {
            testbed.lab_only()?;
        }
        let watch = CpuWatch::begin();
        let mut bench = (self.run)(harness, testbed)?;
        harness.check(&bench)?;
        watch.end(&mut bench);
        if bench.notes().about.is_none() {
            bench.about(self.about);
        }
        Ok(bench)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_found_by_their_own_names() {
        for scenario in SCENARIOS {
            let same = SCENARIOS.iter().filter(|other| other.name == scenario.name);
            assert_eq!(same.count(), 1, "two are called {}", scenario.name);
            let Effort { rounds, seconds } = scenario.effort;
            assert!(ROUNDS.contains(&rounds) && SECONDS.contains(&seconds), "{}", scenario.name);
            assert_eq!(Scenario::find(scenario.name).unwrap().about, scenario.about);
        }
        assert!(Scenario::find("nothing").unwrap_err().to_string().contains("noise"));
    }
}
