//! Actions of a loaded program: filling maps, reading counters, and remaining times.
//!
//! Rule: maps are accessed through [`Map`] alone. Not here: how actions are compiled
//! (`compile::actions`).

use std::time::Duration;

use spec::{Expect, Map};

use super::limits;
use crate::compile::actions::{CompiledActions, TIME_SHIFT, over_at};
use crate::{Action, Rule, Ruleset, abi, maps};

impl CompiledActions {
    /// Fills the maps of a new program.
    pub fn fill<'a, M: Map + 'a>(
        &self,
        map: impl Fn(&str) -> Result<&'a M, M::Error>,
    ) -> Result<(), M::Error> {
        let rules = map(maps::RULES)?;
        for (number, rule) in (0_u32..).zip(&self.rules) {
            rules.update(&number.to_le_bytes(), &rule.to_bytes(), Expect::Any)?;
        }
        for (slot, index) in (0_u32..).zip(&self.interfaces) {
            map(maps::INTERFACES)?.update(
                &slot.to_le_bytes(),
                &index.to_le_bytes(),
                Expect::Any,
            )?;
        }
        for cpu in &self.cpus {
            map(maps::CPUS)?.update(&cpu.to_le_bytes(), &CPU_QUEUE.to_le_bytes(), Expect::Any)?;
        }
        match self.limits.is_empty() {
            false => self.limits.fill(&limits::Maps::find(map)?),
            // Guards use the same random numbers.
            true if self.proxies() => limits::fill_seed(map(maps::SEED)?),
            true => Ok(()),
        }
    }
}

/// Counters of actions that failed, summed over all processors.
pub fn events<M: Map>(map: &M) -> Result<Vec<(abi::Event, u64)>, M::Error> {
    let (mut events, values) = (Vec::new(), map.array()?);
    for event in abi::Event::ALL {
        let bytes = values.get(event as usize).map_or(&[][..], Vec::as_slice);
        let counts = bytes.as_chunks::<8>().0.iter().map(|count| u64::from_le_bytes(*count));
        events.push((event, counts.sum()));
    }
    Ok(events)
}

/// Counters of a rule, summed over all processors.
pub fn count<M: Map>(map: &M, rule: u32) -> Result<abi::Count, M::Error> {
    let bytes = map.lookup(&rule.to_le_bytes())?.unwrap_or_default();
    let counts = bytes.as_chunks::<{ abi::Count::SIZE }>().0.iter().map(abi::Count::from_bytes);
    Ok(counts.fold(abi::Count::default(), |sum, count| abi::Count {
        packets: sum.packets + count.packets,
        bytes: sum.bytes + count.bytes,
        taken: sum.taken + count.taken,
    }))
}

/// The remaining time of a rule with a duration, which is zero if it is over; `None` for other
/// rules.
pub fn left<M: Map>(rules: &M, number: u32, now_ns: u64) -> Result<Option<Duration>, M::Error> {
    let value = rules.lookup(&number.to_le_bytes())?;
    let rule =
        value.as_deref().and_then(|bytes| Some(abi::Rule::from_bytes(bytes.try_into().ok()?)));
    let end = rule.filter(|rule| rule.action == abi::Action::DropFor as u32);
    let end_ns = end.map(|rule| u64::from(rule.argument) << TIME_SHIFT);
    Ok(end_ns.map(|end| Duration::from_nanos(end.saturating_sub(now_ns))))
}

/// Remaining time of each rule, as [`left`].
pub fn times_left<M: Map>(
    map: &M,
    rules: &Ruleset,
    now_ns: u64,
) -> Result<Vec<Option<Duration>>, M::Error> {
    let is_timed = |rule: &Rule| matches!(rule.action, Action::DropFor(_));
    let all = rules.rules.iter().zip(0_u32..);
    all.map(|(rule, number)| match is_timed(rule) {
        true => left(map, number, now_ns),
        false => Ok(None),
    })
    .collect()
}

/// Changes the end of a rule with a duration, to this time from now. Packets see the old or the new
/// end. Returns whether the rule has a duration.
pub fn extend<M: Map>(
    rules: &M,
    number: u32,
    now_ns: u64,
    time: Duration,
) -> Result<bool, M::Error> {
    let value = rules.lookup(&number.to_le_bytes())?;
    let rule =
        value.as_deref().and_then(|bytes| Some(abi::Rule::from_bytes(bytes.try_into().ok()?)));
    let rule = rule.filter(|rule| rule.action == abi::Action::DropFor as u32);
    let (Some(rule), Some(argument)) = (rule, over_at(now_ns, time)) else { return Ok(false) };
    let extended = abi::Rule { argument, ..rule };
    rules.update(&number.to_le_bytes(), &extended.to_bytes(), Expect::Any)?;
    Ok(true)
}

/// Carries the ends of rules with a duration over from another program; `pairs` are numbers of
/// equal rules, old and new. A rule whose time is over by `restart_ns` starts again.
pub fn carry_ends<M: Map>(
    from: &M,
    to: &M,
    pairs: &[(u32, u32)],
    restart_ns: u64,
) -> Result<(), M::Error> {
    for (old, new) in pairs {
        let left = left(from, *old, restart_ns)?;
        if left.is_some_and(|left| !left.is_zero())
            && let Some(rule) = from.lookup(&old.to_le_bytes())?
        {
            to.update(&new.to_le_bytes(), &rule, Expect::Any)?;
        }
    }
    Ok(())
}

/// Length of the queue of frames for another processor.
const CPU_QUEUE: u32 = 2048;

#[cfg(test)]
mod tests {
    use spec::MemoryMap;

    use super::*;
    use crate::compile::actions::Sizes;

    fn ruleset(actions: &[Action]) -> Ruleset {
        let rule = |(number, action): (usize, &Action)| Rule {
            name: format!("r{number}"),
            tests: Vec::new(),
            action: action.clone(),
        };
        Ruleset { rules: actions.iter().enumerate().map(rule).collect(), ..Ruleset::default() }
    }

    #[test]
    fn ends_are_found_and_carried() {
        let second = Duration::from_secs(1);
        let ends = |ms| over_at(0, Duration::from_millis(ms)).unwrap();
        // Never early, and at most one step late: two steps of 2^26 ns are 9 µs more than 134 ms.
        assert_eq!([100, 134, 135, 201, 202].map(ends), [2, 2, 3, 3, 4]);
        let map = |now_ns: u64, actions: &[Action]| {
            let sizes = Sizes { now_ns, ..Sizes::default() };
            let acts = CompiledActions::new(&ruleset(actions), sizes, |_| None).unwrap();
            let map = MemoryMap::array(abi::Rule::SIZE, actions.len() as u32);
            for (number, rule) in (0_u32..).zip(&acts.rules) {
                map.update(&number.to_le_bytes(), &rule.to_bytes(), Expect::Any).unwrap();
            }
            map
        };
        let brief = Action::DropFor(10 * second);
        let old = map(7_000_000_000, &[Action::Drop, brief.clone(), Action::DropFor(60 * second)]);
        assert_eq!(left(&old, 0, 0).unwrap(), None);
        let piece = Duration::from_nanos(1 << TIME_SHIFT);
        let at = |number, now_s: u64| left(&old, number, now_s * 1_000_000_000).unwrap().unwrap();
        assert!(at(1, 7) >= 10 * second && at(1, 7) <= 10 * second + piece);
        assert_eq!((at(1, 18), at(1, 4000)), (Duration::ZERO, Duration::ZERO));
        // Both rules remain; the time of the first one is over, so it starts again.
        let new = map(20_000_000_000, &[Action::DropFor(60 * second), brief]);
        carry_ends(&old, &new, &[(1, 1), (2, 0)], 20_000_000_000).unwrap();
        assert_eq!(left(&new, 0, 0).unwrap(), left(&old, 2, 0).unwrap());
        assert!(left(&new, 1, 20_000_000_000).unwrap().unwrap() >= 10 * second);
        // A longer time replaces the end; other rules have none.
        assert!(extend(&new, 1, 25_000_000_000, 60 * second).unwrap());
        assert!(left(&new, 1, 25_000_000_000).unwrap().unwrap() >= 60 * second);
        assert!(!extend(&old, 0, 25_000_000_000, 60 * second).unwrap());
        assert_eq!(left(&old, 0, 0).unwrap(), None);
    }
}
