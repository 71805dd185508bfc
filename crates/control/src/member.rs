//! `Member`: the place of a program in a chain, stored with it in the kernel.
//!
//! A chain is one program, composed of several, with a generation for each of them: all of these
//! have the same program and maps of their own. A program that was attached alone has no such
//! record: it is a chain of one.

use kernel::PerCpu;
use serde::{Deserialize, Serialize};
use spec::compose::{SlotTotals, VERDICTS_MAP, VerdictSet};
use spec::{Map as _, Verdict};

use crate::counters::{Counters, Counts};
use crate::error::{ChainError, Result};
use crate::map_names::MEMBER;
use crate::state::Generation;

/// The place of a program in a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Member {
    /// Name of the member, which no other one has.
    pub name: String,
    /// Program of its object.
    pub program: String,
    /// Members run in ascending order.
    pub priority: u32,
    /// Names of the verdicts after which the next member runs.
    pub continue_on: Vec<String>,
    /// Number of its slot in the verdict map; `None` until the chain is composed.
    #[serde(default)]
    pub slot: Option<u32>,
    /// Whether the chain counts its verdicts.
    #[serde(default)]
    pub counted: bool,
    /// What an earlier member left in the slot, as [`SlotTotals::words`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<u64>,
    /// Members of the chain.
    pub members: usize,
    /// How the members became one program.
    #[serde(default)]
    pub form: ChainForm,
    /// Why the members are not composed, if they are chained by tail calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How the members of a chain became one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChainForm {
    /// Composed, and inlined where that can be.
    #[default]
    Inlined,
    /// Composed of functions that are verified one by one, because the verifier refused the members
    /// inlined.
    Functions,
    /// Programs of their own, because they cannot become one.
    TailCalls,
}

impl Member {
    /// A member of this kind in its usual place, which is not counted by the chain.
    pub fn new(name: &str, program: &str) -> Self {
        Self {
            name: name.to_owned(),
            program: program.to_owned(),
            priority: default_priority(name),
            continue_on: names(VerdictSet::default()),
            slot: None,
            counted: false,
            before: Vec::new(),
            members: 1,
            form: ChainForm::default(),
            reason: None,
        }
    }

    /// Reads the record of a generation; `None` for a program that was attached alone.
    pub fn read(generation: &Generation) -> Result<Option<Self>> {
        let Some(map) = generation.map_if_kept(MEMBER)? else { return Ok(None) };
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        Ok(std::str::from_utf8(&bytes).ok().and_then(|text| toml::from_str(text).ok()))
    }

    /// What the member's slot had when it was added.
    pub fn totals_before(&self) -> SlotTotals {
        SlotTotals::from_words(&self.before)
    }

    /// The text that is stored.
    pub fn text(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// The verdicts after which the next member runs.
    pub fn verdicts(&self) -> VerdictSet {
        self.continue_on.iter().filter_map(|name| name.parse::<Verdict>().ok()).collect()
    }
}

/// Names of verdicts, as they are stored.
pub fn names(verdicts: VerdictSet) -> Vec<String> {
    verdicts.iter().map(|verdict| verdict.name().to_owned()).collect()
}

/// The members of a program, in order; empty for one that was attached alone.
///
/// # Errors
/// Pins of a member are missing.
pub fn members(generations: &[Generation]) -> Result<Vec<(Member, Generation)>> {
    let mut all = Vec::new();
    for generation in generations {
        if let Some(member) = Member::read(generation)? {
            all.push((member, generation.clone()));
        }
    }
    let expected = all.iter().map(|(member, _)| member.members).max().unwrap_or(0);
    if all.len() != expected {
        return Err(ChainError::MissingPins { found: all.len(), expected }.into());
    }
    all.sort_by_key(|(member, generation)| (member.priority, generation.number()));
    Ok(all)
}

/// The counters of one member; `None` if it is not counted.
pub fn counters(member: &Member, generation: &Generation) -> Result<Option<Counters>> {
    match member.counted.then_some(member.slot).flatten() {
        Some(slot) => Counters::of_member(generation, slot, member.totals_before()),
        None => Counters::kept(generation),
    }
}

/// Average nanoseconds of a member's run without the reading of the clock, among the packets that
/// were timed; `None` if there were none.
pub fn run_time(member: &Member, generation: &Generation) -> Result<Option<f64>> {
    let Some(map) = generation.map_if_kept(VERDICTS_MAP)? else { return Ok(None) };
    let values = map.lookup_per_cpu(&[0; 4])?;
    Ok(values.and_then(|values| run_time_in(member, &values)))
}

/// As [`run_time`], from the values of the chain's verdict map.
pub fn run_time_in(member: &Member, values: &PerCpu) -> Option<f64> {
    let totals = SlotTotals::read(values.values(), member.slot?).unwrap_or_default();
    let totals = totals.since(&member.totals_before());
    let clock = SlotTotals::clock_ns(values.values());
    let run = |clock: f64| (totals.ns as f64 / totals.samples as f64 - clock).max(0.0);
    clock.filter(|_| totals.samples > 0).map(run)
}

/// Packets by the verdicts of the whole chain: of each member those that are final.
pub fn final_counts(members: &[(&Member, &Counts)]) -> Counts {
    let mut total = Counts::default();
    for (number, (member, counts)) in members.iter().enumerate() {
        let is_last = number + 1 == members.len();
        for (verdict, count) in &counts.verdicts {
            if is_last || !member.verdicts().contains(*verdict) {
                *total.verdicts.entry(*verdict).or_default() += *count;
            }
        }
        total.invalid += counts.invalid;
    }
    total
}

/// Whether it is a name of a generation that can be found again.
pub fn is_name(name: &str) -> bool {
    let is_usable = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '-';
    !name.is_empty() && name.len() <= NAME_LIMIT && name.chars().all(is_usable)
}

/// Characters of a member's name.
pub const NAME_LIMIT: usize = 64;

/// Priority of a program of this name: a filter runs before `drop`, `drop` before other objects,
/// and these before `balance`, `backend` and `forward`.
pub fn default_priority(name: &str) -> u32 {
    match name {
        "filter" => 100,
        "drop" => 200,
        "balance" => 350,
        "backend" => 360,
        "forward" => 400,
        _ => 300,
    }
}

#[cfg(test)]
mod tests {
    use functions::stats::Count;

    use super::*;

    fn member(name: &str, verdicts: &[Verdict]) -> Member {
        Member {
            name: name.to_owned(),
            program: name.to_owned(),
            priority: 100,
            continue_on: names(verdicts.iter().copied().collect()),
            slot: Some(0),
            counted: true,
            before: vec![1, 60],
            members: 2,
            form: ChainForm::Functions,
            reason: None,
        }
    }

    #[test]
    fn a_member_is_read_as_it_was_written() {
        let one = Member { slot: None, ..member("a", &[Verdict::Pass, Verdict::Tx]) };
        assert_eq!(toml::from_str::<Member>(&one.text()).unwrap(), one);
        assert_eq!(one.verdicts(), [Verdict::Pass, Verdict::Tx].into_iter().collect());
    }

    #[test]
    fn final_verdicts_are_those_that_end_the_chain() {
        let counts = |pass: u64, drop: u64| {
            let count = |packets| Count { packets, bytes: 60 * packets };
            let verdicts = [(Verdict::Pass, count(pass)), (Verdict::Drop, count(drop))];
            Counts { verdicts: verdicts.into(), ..Counts::default() }
        };
        let (first, last) = (member("first", &[Verdict::Pass]), member("last", &[Verdict::Pass]));
        let members = [(&first, &counts(70, 30)), (&last, &counts(60, 10))];
        assert_eq!(final_counts(&members), counts(60, 40));
    }
}
