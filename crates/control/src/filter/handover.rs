//! `Handover`: what rules that are in force leave to those that take their place.
//!
//! Rule: what can be the same map is, so nothing is lost between reading and writing: counters of
//! reasons, bans, samples, and while all limits stay their buckets and the guards of SYN proxies.
//! Buckets of limits that stay while others change are copied, and when rules' times are over.
//! Counts of rules are added later, see `state::counts`.

use std::collections::HashMap;

use filter::act::{self, Acts, EVENTS, GUARDED};
use filter::limit::{self, LINES, SEED};
use filter::sample::SAMPLES;
use filter::{Action, Compiled, Ruleset, ban};
use functions::stats;
use kernel::{Map, Object};
use spec::{Expect, Map as _, Spec};
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use super::ruleset;
use crate::error::Result;

#[derive(Debug)]
pub struct Handover<'a> {
    active: &'a ActiveFilter,
    /// Old numbers and new ones of limits of rules that stay.
    limits: Vec<(u32, u32)>,
    /// All limits stay as they are, where they are.
    same_limits: bool,
    /// Old numbers and new ones of rules that stay and have a time.
    timed: Vec<(u32, u32)>,
}

impl<'a> Handover<'a> {
    pub fn of(active: &'a ActiveFilter, made: &Compiled, rules: &Ruleset) -> Result<Self> {
        let old = active.rules()?;
        let timed = timed(&old, rules);
        let host = ruleset::environment(false)?;
        let acts = Acts::new(&old, host.sizes, |name| host.ifindex(name));
        // Rules in force that could not be made today: an interface of theirs is gone.
        let Ok(acts) = acts else {
            return Ok(Self { active, limits: Vec::new(), same_limits: false, timed });
        };
        let number = |acts: &Acts, rules: &Ruleset| -> HashMap<String, u32> {
            let names = ruleset::identities(rules).into_iter().enumerate();
            names.filter_map(|(rule, name)| Some((name, acts.limit_of(rule)?))).collect()
        };
        let (was, is) = (number(&acts, &old), number(&made.acts, rules));
        let limits = was.iter().filter_map(|(name, old)| Some((*old, *is.get(name)?))).collect();
        Ok(Self { active, limits, same_limits: was == is, timed })
    }

    /// Maps that both use.
    pub fn shared(&self, spec: &Spec) -> Result<Vec<(String, Map)>> {
        let mut names = vec![ban::BANS, EVENTS, SAMPLES];
        if self.same_limits {
            names.extend([LINES, SEED, GUARDED]);
        }
        if self.active.has_reasons_of(spec) {
            names.push(stats::MAP);
        }
        self.active.alike(spec, names)
    }

    /// Copies into maps that are not in use yet what could not be shared.
    pub fn hand_over(&self, object: &Object) -> Result<()> {
        if !self.timed.is_empty() {
            let (from, to) = (self.active.map(act::RULES)?, object.map(act::RULES)?);
            act::carry_ends(&from, to, &self.timed, monotonic_ns())?;
        }
        let bans = (self.active.map(ban::BANS)?, object.map(ban::BANS)?);
        if bans.0.id() != bans.1.id() {
            copy_bans(&bans.0, bans.1)?;
        }
        if self.same_limits || self.limits.is_empty() {
            return Ok(());
        }
        let [limits, lines, seed] = [limit::LIMITS, LINES, SEED].map(|name| self.active.map(name));
        let (limits, lines, seed) = (limits?, lines?, seed?);
        let from = limit::Maps { limits: &limits, lines: &lines, seed: &seed };
        limit::carry(&from, &limit::Maps::find(|name| object.map(name))?, &self.limits)?;
        Ok(())
    }
}

/// Rules with a time that are in both, by their numbers.
fn timed(old: &Ruleset, new: &Ruleset) -> Vec<(u32, u32)> {
    let numbers: HashMap<String, u32> = ruleset::identities(new).into_iter().zip(0..).collect();
    let all = ruleset::identities(old).into_iter().zip(0_u32..).zip(&old.rules);
    let timed = all.filter(|(_, rule)| matches!(rule.action, Action::DropFor(_)));
    timed.filter_map(|((name, old), _)| Some((old, *numbers.get(&name)?))).collect()
}

/// As many as there is room for.
fn copy_bans(from: &Map, to: &Map) -> Result<()> {
    for (key, value) in from.entries()?.into_iter().take(to.max_entries() as usize) {
        to.update(&key, &value, Expect::Any)?;
    }
    Ok(())
}
