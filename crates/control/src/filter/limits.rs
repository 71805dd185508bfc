//! The state of a filter's limits, read from the program's maps.
//!
//! Field names are promised in `docs/json.md`.

use filter::abi::{self, Line};
use filter::runtime::limits::{Fill, Load, State};
use kernel::Map;
use serde::Serialize;
use spec::Map as _;
use sys::thread::monotonic_ns;

use crate::error::Result;
use crate::rates::Rate;

/// The state of a limiting rule.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// Name of the rule.
    pub rule: String,
    /// Packets over the limit so far, which were dropped.
    pub over: u64,
    /// Packets over the limit per second over the interval.
    pub over_pps: f64,
    /// Levels, each with buckets of its own: the sender, the prefixes around it, the total.
    pub levels: Vec<Level>,
    /// Traffic that met the limit over the interval, relative to what all buckets, or the total,
    /// earn in that time: from 1 on, all senders share one limit. `null` with a single bucket.
    pub load: Option<f64>,
    /// Upper bound of the probability that a packet is dropped because of other senders, for a
    /// sender that uses at most half of its burst. `null` with a single bucket.
    pub loss: Option<f64>,
}

/// Buckets of one level of a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Which packets share a bucket, as the rule language writes it.
    pub per: String,
    /// Buckets that there are.
    pub buckets: u64,
    /// Buckets that are not full: senders that used some of their burst.
    pub used: u64,
    /// Used buckets that have not enough left for a packet.
    pub empty: u64,
    /// Remaining part of the burst of used buckets on average, from 0 to 1.
    pub left: f64,
}

/// A rule with a limit, and the packets that it matched.
#[derive(Debug)]
pub(super) struct LimitingRule<'a> {
    /// Position among all rules.
    pub number: u32,
    pub name: &'a str,
    /// All packets that the rule matched.
    pub rate: &'a Rate,
    /// Packets over the limit.
    pub over: u64,
    pub over_pps: f64,
}

/// Maps of a filter that hold the state of limits.
#[derive(Debug)]
pub(super) struct Maps {
    pub rules: Map,
    pub limits: Map,
    pub lines: Map,
}

impl Limit {
    fn new(rule: &LimitingRule<'_>, state: &State, fills: Vec<Fill>) -> Self {
        let load = Load { pps: rule.rate.pps, bps: rule.rate.bps };
        let sharing = state.sharing(load);
        Self {
            rule: rule.name.to_owned(),
            over: rule.over,
            over_pps: rule.over_pps,
            levels: fills.into_iter().map(Level::from).collect(),
            load: sharing.map(|sharing| sharing.load),
            loss: sharing.map(|sharing| sharing.loss),
        }
    }
}

impl From<Fill> for Level {
    fn from(fill: Fill) -> Self {
        let Fill { per, buckets, used, empty, left } = fill;
        Self { per, buckets, used, empty, left }
    }
}

/// Reads the state of these rules' limits.
pub(super) fn read(maps: &Maps, rules: &[LimitingRule<'_>]) -> Result<Vec<Limit>> {
    // The kernel maps no memory of a map that was opened for reading alone.
    let lines = maps.lines.mapping(false).ok();
    let line = |number: u32| {
        let mut bytes = [0; Line::SIZE];
        if number >= maps.lines.max_entries() {
            return None;
        }
        match &lines {
            Some(lines) => lines.copy_out(number as usize * Line::SIZE, &mut bytes),
            None => {
                let value = maps.lines.lookup(&number.to_le_bytes()).ok()??;
                bytes = value.try_into().ok()?;
            }
        }
        Some(bytes)
    };
    let mut all = Vec::new();
    for rule in rules {
        let value = maps.rules.lookup(&rule.number.to_le_bytes())?.unwrap_or_default();
        let Ok(value) = <[u8; abi::Rule::SIZE]>::try_from(value) else { continue };
        let number = abi::Rule::from_bytes(&value).argument;
        let Some(state) = State::read(&maps.limits, number)? else { continue };
        let fills = state.fills(line, monotonic_ns());
        all.push(Limit::new(rule, &state, fills));
    }
    Ok(all)
}
