//! The state of the limits in force, from the program's maps.

use anyhow::Result;
use filter::Action;
use filter::abi::{self, Line};
use filter::maps::{LIMITS, LINES, RULES};
use filter::runtime::limits::State;
use spec::Map as _;
use sys::thread::monotonic_ns;

use super::live::Live;
use crate::view::filter::limits::Limit;
use crate::view::filter::show::{Given, Rule};

/// One for each rule that limits, with what `rules` say of the same time.
pub fn read(live: &Live, given: &Given, rules: &[Rule]) -> Result<Vec<Limit>> {
    let limiting = given.rules.rules.iter().zip(rules);
    let limiting: Vec<_> =
        limiting.filter(|(rule, _)| matches!(rule.action, Action::Limit(_))).collect();
    if limiting.is_empty() {
        return Ok(Vec::new());
    }
    let (numbers, limits, map) = (live.map(RULES)?, live.map(LIMITS)?, live.map(LINES)?);
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
