//! `FilterMaps`: the maps of an active filter, kept open so that its counters can be read often.
//!
//! Rule: opening a map by its pin takes several system calls, reading it one. The maps are those of
//! one generation: another program has others.

use std::time::Duration;

use filter::maps::{BANS, CARRIED, COUNTS, EVENTS, LIMITS, LINES, RULES};
use filter::runtime::{actions, carried_counts};
use filter::{Action, Carried, Ruleset, abi};
use kernel::Map;
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use super::limits;
use super::report::{Bans, Reading};
use crate::counters::Counters;
use crate::error::Result;

/// The maps of a filter that are read repeatedly.
#[derive(Debug)]
pub(super) struct FilterMaps {
    counters: Counters,
    events: Map,
    counts: Map,
    carried: Map,
    bans: Map,
    /// `None` for rules without a time.
    timed: Option<Map>,
    /// `None` for rules without a limit.
    pub limits: Option<limits::Maps>,
}

impl FilterMaps {
    /// Opens the maps of a filter with these rules.
    pub fn open(active: &ActiveFilter, rules: &Ruleset) -> Result<Self> {
        let has = |is: fn(&Action) -> bool| rules.rules.iter().any(|rule| is(&rule.action));
        let timed = has(|action| matches!(action, Action::DropFor(_)));
        let limits = has(|action| matches!(action, Action::Limit(_)));
        let limits = limits.then(|| {
            let [rules, limits, lines] = [RULES, LIMITS, LINES].map(|name| active.map(name));
            Ok::<_, crate::Error>(limits::Maps { rules: rules?, limits: limits?, lines: lines? })
        });
        Ok(Self {
            counters: active.counters()?,
            events: active.map(EVENTS)?,
            counts: active.map(COUNTS)?,
            carried: active.map(CARRIED)?,
            bans: active.map(BANS)?,
            timed: timed.then(|| active.map(RULES)).transpose()?,
            limits: limits.transpose()?,
        })
    }

    /// Reads all counters of the filter whose maps they are.
    pub fn read(&self, active: &ActiveFilter) -> Result<Reading> {
        let (counts, events) = (self.counters.read()?, actions::events(&self.events)?);
        let carried = Carried::read(&self.carried)?.filter(|one| one.pending().is_none());
        let rules = match carried {
            Some(carried) => carried.totals(&carried_counts::counts(&self.counts)?),
            // The counts of the previous program are not added yet.
            None => active.rule_counts()?,
        };
        Ok(Reading { rules, counts, events })
    }

    /// Remaining time of each rule; `None` for rules without a time.
    pub fn left(&self, rules: &Ruleset) -> Result<Vec<Option<Duration>>> {
        match &self.timed {
            Some(map) => Ok(actions::times_left(map, rules, monotonic_ns())?),
            None => Ok(vec![None; rules.rules.len()]),
        }
    }

    /// Number of banned sources, and the most that can be banned.
    pub fn bans(&self) -> Result<Bans> {
        let now = monotonic_ns();
        let is_active = |value: &[u8]| {
            let ban = <[u8; abi::Ban::SIZE]>::try_from(value);
            ban.is_ok_and(|ban| abi::Ban::from_bytes(&ban).until > now)
        };
        let number = self.bans.entries()?.iter().filter(|(_, value)| is_active(value)).count();
        Ok(Bans { number, most: self.bans.max_entries() })
    }
}
