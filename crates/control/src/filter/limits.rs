//! The state of a filter's limits, read from the program's maps.
//!
//! Field names are promised in `docs/json.md`.

use filter::Action;
use filter::abi::{self, Line};
use filter::act::RULES;
use filter::limit::state::{Fill, Load, State};
use filter::limit::{LIMITS, LINES};
use serde::Serialize;
use spec::Map as _;
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use super::report::{LoadedRules, RuleReport};
use crate::error::Result;
use crate::rates::Rate;

/// The state of a limiting rule.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    pub rule: String,
    /// Packets over the limit so far, which were dropped.
    pub over: u64,
    pub over_pps: f64,
    /// Levels, each with buckets of its own: the sender, the prefixes around it, the total.
    pub levels: Vec<Level>,
    /// What met the limit over the interval, in parts of what all buckets, or the total, earn in
    /// that time: from 1 on, the limit is one for all senders together. `null` where there is one
    /// bucket.
    pub load: Option<f64>,
    /// The most that an honest sender which keeps to half of its burst can lose to others, as a
    /// chance. `null` where there is one bucket.
    pub loss: Option<f64>,
}

/// Buckets of one level of a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Which packets share a bucket, as the rule language writes it.
    pub per: String,
    pub buckets: u64,
    /// Buckets that are not full: senders that used some of their burst.
    pub used: u64,
    /// Those of them that have not enough left for a packet.
    pub empty: u64,
    /// What used buckets have left of their burst on average, from 0 to 1.
    pub left: f64,
}

impl Limit {
    /// `taken` is the number of packets that the limit dropped, and their rate; `rate` is that of
    /// all packets that the rule matched.
    fn new(
        rule: &str,
        taken: (u64, f64),
        rate: &Rate,
        (state, fills): (&State, Vec<Fill>),
    ) -> Self {
        let load = Load { pps: rate.pps, bps: rate.bps };
        let sharing = state.sharing(load);
        Self {
            rule: rule.to_owned(),
            over: taken.0,
            over_pps: taken.1,
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

/// One for each limiting rule; `rules` are reports of the same moment.
pub(super) fn read(
    active: &ActiveFilter,
    loaded: &LoadedRules,
    rules: &[RuleReport],
) -> Result<Vec<Limit>> {
    let limiting = loaded.rules.rules.iter().zip(rules);
    let limiting: Vec<_> =
        limiting.filter(|(rule, _)| matches!(rule.action, Action::Limit(_))).collect();
    if limiting.is_empty() {
        return Ok(Vec::new());
    }
    let (numbers, limits, map) = (active.map(RULES)?, active.map(LIMITS)?, active.map(LINES)?);
    let lines = map.mapping(false)?;
    let line = |number: u32| {
        let mut bytes = [0; Line::SIZE];
        if number >= map.max_entries() {
            return None;
        }
        lines.copy_out(number as usize * Line::SIZE, &mut bytes);
        Some(bytes)
    };
    let mut all = Vec::new();
    for (_, rule) in limiting {
        let value = numbers.lookup(&(rule.number as u32).to_le_bytes())?.unwrap_or_default();
        let Ok(value) = <[u8; abi::Rule::SIZE]>::try_from(value) else { continue };
        let number = abi::Rule::from_bytes(&value).argument;
        let Some(state) = State::read(&limits, number)? else { continue };
        let fills = state.fills(line, monotonic_ns());
        all.push(Limit::new(&rule.name, (rule.taken, rule.taken_pps), &rule.rate, (&state, fills)));
    }
    Ok(all)
}
