//! `Handover`: state that the active rules pass to the rules that replace them.
//!
//! Rule: maps are shared where possible, so nothing is lost between reading and writing: counters
//! of reasons, bans, samples, and, if all limits persist, their buckets and the guards of SYN
//! proxies. If only some limits persist, their buckets are copied; so are the ends of rules with a
//! time. Counts of rules are added later, see `state::counts`.

use std::collections::HashMap;

use filter::compile::actions::CompiledActions;
use filter::maps::{self, EVENTS, GUARDED, LINES, SAMPLES, SEED};
use filter::runtime::{actions, limits};
use filter::{Action, Compiled, Ruleset};
use functions::stats;
use kernel::Map;
use spec::{Expect, Map as _, Spec};
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use super::ruleset;
use crate::error::Result;

/// The state to be passed from an active filter to its replacement.
#[derive(Debug)]
pub struct Handover<'a> {
    active: &'a ActiveFilter,
    /// Old and new numbers of limits whose rules persist.
    limits: Vec<(u32, u32)>,
    /// Whether all limits persist with the same numbers.
    same_limits: bool,
    /// Old and new numbers of rules that persist and have a time.
    timed: Vec<(u32, u32)>,
    /// Whether rules that have expired start again.
    restarts: bool,
}

impl<'a> Handover<'a> {
    /// Compares the active rules with those that replace them.
    pub fn new(
        active: &'a ActiveFilter,
        made: &Compiled,
        rules: &Ruleset,
        restarts: bool,
    ) -> Result<Self> {
        let old = active.rules()?;
        let timed = timed(&old, rules);
        let host = ruleset::environment(false)?;
        let old_actions = CompiledActions::new(&old, host.sizes, |name| host.ifindex(name));
        // The active rules do not compile any more: one of their interfaces no longer exists.
        let Ok(old_actions) = old_actions else {
            let (limits, same_limits) = (Vec::new(), false);
            return Ok(Self { active, limits, same_limits, timed, restarts });
        };
        let numbers = |actions: &CompiledActions, rules: &Ruleset| -> HashMap<String, u32> {
            let names = ruleset::identities(rules).into_iter().enumerate();
            names.filter_map(|(rule, name)| Some((name, actions.limit_of(rule)?))).collect()
        };
        let (before, after) = (numbers(&old_actions, &old), numbers(&made.actions, rules));
        let limits = before.iter();
        let limits = limits.filter_map(|(name, old)| Some((*old, *after.get(name)?))).collect();
        Ok(Self { active, limits, same_limits: before == after, timed, restarts })
    }

    /// Maps that both programs use.
    pub fn shared(&self, spec: &Spec) -> Result<Vec<(String, Map)>> {
        let mut names = vec![maps::BANS, EVENTS, SAMPLES];
        if self.same_limits {
            names.extend([LINES, SEED, GUARDED]);
        }
        if self.active.has_reasons_of(spec) {
            names.push(stats::MAP);
        }
        self.active.compatible(spec, names)
    }

    /// Copies state that could not be shared into maps that are not in use yet.
    pub fn copy<'m>(&self, map: impl Fn(&str) -> kernel::Result<&'m Map>) -> Result<()> {
        if !self.timed.is_empty() {
            let (from, to) = (self.active.map(maps::RULES)?, map(maps::RULES)?);
            let restart_ns = if self.restarts { monotonic_ns() } else { 0 };
            actions::carry_ends(&from, to, &self.timed, restart_ns)?;
        }
        let bans = (self.active.map(maps::BANS)?, map(maps::BANS)?);
        if bans.0.id() != bans.1.id() {
            copy_bans(&bans.0, bans.1)?;
        }
        if self.same_limits || self.limits.is_empty() {
            return Ok(());
        }
        let [limits, lines, seed] = [maps::LIMITS, LINES, SEED].map(|name| self.active.map(name));
        let (limits, lines, seed) = (limits?, lines?, seed?);
        let from = limits::Maps { limits: &limits, lines: &lines, seed: &seed };
        limits::carry(&from, &limits::Maps::find(map)?, &self.limits)?;
        Ok(())
    }
}

/// Old and new numbers of rules with a time that both rule sets contain.
fn timed(old: &Ruleset, new: &Ruleset) -> Vec<(u32, u32)> {
    let numbers: HashMap<String, u32> = ruleset::identities(new).into_iter().zip(0..).collect();
    let all = ruleset::identities(old).into_iter().zip(0_u32..).zip(&old.rules);
    let timed = all.filter(|(_, rule)| matches!(rule.action, Action::DropFor(_)));
    timed.filter_map(|((name, old), _)| Some((old, *numbers.get(&name)?))).collect()
}

/// Copies bans, at most the number that the new map can hold.
fn copy_bans(from: &Map, to: &Map) -> Result<()> {
    for (key, value) in from.entries()?.into_iter().take(to.max_entries() as usize) {
        to.update(&key, &value, Expect::Any)?;
    }
    Ok(())
}
