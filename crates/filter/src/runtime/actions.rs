//! Actions of a loaded program: maps filled after loading, counters, and times that are left.
//!
//! Rule: maps are accessed through [`Map`] alone. Not here: how actions are compiled
//! (`compile::actions`).

use std::time::Duration;

use spec::{Expect, Map};

use super::limits;
use crate::compile::actions::{Acts, TIME_SHIFT};
use crate::{abi, maps};

impl Acts {
    /// Fills maps that are new.
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
            // Guards are found by the same random numbers.
            true if self.proxies() => limits::fill_seed(map(maps::SEED)?),
            true => Ok(()),
        }
    }
}

/// What could not be done as rules say, all processors together.
pub fn events<M: Map>(map: &M) -> Result<Vec<(abi::Event, u64)>, M::Error> {
    let mut events = Vec::new();
    for event in abi::Event::ALL {
        let bytes = map.lookup(&(event as u32).to_le_bytes())?.unwrap_or_default();
        let counts = bytes.as_chunks::<8>().0.iter().map(|count| u64::from_le_bytes(*count));
        events.push((event, counts.sum()));
    }
    Ok(events)
}

/// What a rule counted, all processors together.
pub fn count<M: Map>(map: &M, rule: u32) -> Result<abi::Count, M::Error> {
    let bytes = map.lookup(&rule.to_le_bytes())?.unwrap_or_default();
    let counts = bytes.as_chunks::<{ abi::Count::SIZE }>().0.iter().map(abi::Count::from_bytes);
    Ok(counts.fold(abi::Count::default(), |sum, count| abi::Count {
        packets: sum.packets + count.packets,
        bytes: sum.bytes + count.bytes,
        taken: sum.taken + count.taken,
    }))
}

/// How long a rule with a time still holds, by what its program has; `None` for other rules. Zero:
/// its time is over.
pub fn left<M: Map>(rules: &M, number: u32, now_ns: u64) -> Result<Option<Duration>, M::Error> {
    let value = rules.lookup(&number.to_le_bytes())?;
    let rule =
        value.as_deref().and_then(|bytes| Some(abi::Rule::from_bytes(bytes.try_into().ok()?)));
    let end = rule.filter(|rule| rule.action == abi::Action::DropFor as u32);
    let end_ns = end.map(|rule| u64::from(rule.argument) << TIME_SHIFT);
    Ok(end_ns.map(|end| Duration::from_nanos(end.saturating_sub(now_ns))))
}

/// Gives rules the ends that the same rules have in another program: pairs of numbers, there and
/// here. A rule whose time is over there begins anew here.
pub fn carry_ends<M: Map>(
    from: &M,
    to: &M,
    pairs: &[(u32, u32)],
    now_ns: u64,
) -> Result<(), M::Error> {
    for (old, new) in pairs {
        let left = left(from, *old, now_ns)?;
        if left.is_some_and(|left| !left.is_zero())
            && let Some(rule) = from.lookup(&old.to_le_bytes())?
        {
            to.update(&new.to_le_bytes(), &rule, Expect::Any)?;
        }
    }
    Ok(())
}

/// Frames that wait for another processor.
const CPU_QUEUE: u32 = 2048;
