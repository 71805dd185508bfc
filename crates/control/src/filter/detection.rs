//! `DetectionReport`: what a detection found, as rates and shares.

use filter::runtime::detect::{self, Busy, Detection, Rate};
use serde::Serialize;

use super::trial::Ended;

/// How long and how completely the traffic was observed.
#[derive(Clone, Debug, Serialize)]
pub struct Observation {
    /// Time of the observation, in seconds.
    pub seconds: f64,
    /// Why it ended.
    pub ended: Ended,
    /// Packets that were inspected.
    pub looked_at: u64,
    /// Packets that were to be inspected and found no room.
    pub lost: u64,
    /// Time that suggested rules hold, in seconds.
    pub hold_s: f64,
}

/// What is over the threshold, the rules that would stop it, and the busiest.
#[derive(Clone, Debug, Serialize)]
pub struct DetectionReport {
    /// Name of the interface.
    pub interface: String,
    #[serde(flatten)]
    pub observation: Observation,
    /// All packets.
    pub all: Amount,
    /// Packets that the active rules dropped.
    pub dropped: Amount,
    /// Packets passed by a rule, or from an address of `--allow`; they are in no finding.
    pub passed: Amount,
    /// All other packets: findings and `busiest` are about these.
    pub open: Amount,
    /// Findings, the one that stops most first.
    pub findings: Vec<Finding>,
    /// The busiest patterns of each kind.
    pub busiest: Vec<Busiest>,
}

/// An estimated rate.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Amount {
    /// Packets per second.
    pub pps: f64,
    /// Bits per second.
    pub bps: f64,
    /// Largest distance of the true rate from `pps`, in 19 of 20 cases.
    pub error_pps: f64,
}

/// One flood, or what looks like one.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Fields that the packets have in common.
    pub kind: &'static str,
    /// Values of these fields, for people.
    pub what: String,
    #[serde(flatten)]
    pub amount: Amount,
    /// The rule that would stop it.
    pub rule: String,
    /// Share of all packets that are likely not from clients which the rule would drop, 0 to 1.
    pub of_flood: f64,
    /// Share of the packets that the rule would drop which are likely from clients, 0 to 1.
    pub collateral: f64,
    /// Upper bound of `collateral`, in 19 of 20 cases.
    pub collateral_most: f64,
    /// Share of the packets that are from clients by their connections, 0 to 1.
    pub clients: f64,
    /// Share of the packets that came in the quietest tenth of the time; `null`: no time was quiet.
    pub quiet: Option<f64>,
    /// Source addresses that were seen.
    pub sources: usize,
    /// Source addresses with connections that make progress.
    pub talking: usize,
    /// Name of the rule that `--auto` loaded, or `null`.
    pub applied: Option<String>,
}

/// The busiest patterns of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Busiest {
    /// Fields that the packets have in common.
    pub kind: &'static str,
    /// Patterns, the busiest first.
    pub most: Vec<BusyRow>,
}

/// One pattern.
#[derive(Clone, Debug, Serialize)]
pub struct BusyRow {
    /// Values of the fields, for people.
    pub what: String,
    #[serde(flatten)]
    pub amount: Amount,
    /// Share of the packets in `open`, 0 to 1.
    pub share: f64,
}

impl DetectionReport {
    /// Rates and shares of a detection.
    pub fn new(interface: &str, detection: &Detection, observation: Observation) -> Self {
        let amount = |rate: &Rate| Amount::of(rate, detection.seconds);
        let busiest = |busy: &Busy| Busiest {
            kind: busy.shape,
            most: busy
                .most
                .iter()
                .map(|one| BusyRow {
                    what: one.pattern.words(),
                    amount: amount(&one.rate),
                    share: one.rate.packets / detection.open.packets.max(1.0),
                })
                .collect(),
        };
        Self {
            interface: interface.to_owned(),
            observation,
            all: amount(&detection.all),
            dropped: amount(&detection.dropped),
            passed: amount(&detection.chosen),
            open: amount(&detection.open),
            findings: detection.findings.iter().map(|it| Finding::of(it, detection)).collect(),
            busiest: detection.busy.iter().map(busiest).collect(),
        }
    }
}

impl Amount {
    fn of(rate: &Rate, seconds: f64) -> Self {
        let seconds = seconds.max(f64::MIN_POSITIVE);
        Self {
            pps: rate.packets / seconds,
            bps: rate.bytes * 8.0 / seconds,
            error_pps: rate.error() / seconds,
        }
    }
}

impl Finding {
    fn of(finding: &detect::Finding, detection: &Detection) -> Self {
        let detect::Evidence { clients, quiet, sources, active: talking } = finding.evidence;
        Self {
            kind: finding.shape,
            what: finding.pattern.words(),
            amount: Amount::of(&finding.takes, detection.seconds),
            rule: finding.rule.clone(),
            of_flood: finding.of_flood,
            collateral: finding.collateral,
            collateral_most: finding.collateral_most,
            clients,
            quiet,
            sources,
            talking,
            applied: None,
        }
    }
}
