//! Makes the row of one state: its next states by the classes of a field, or by its values.

use std::collections::HashMap;

use super::State;
use super::classes::Classes;
use super::comb::Sparse;
use super::conjunction::Sets;
use super::states::{Lists, States};

/// A row to make: the step, and the rules that are possible before it.
#[derive(Clone, Copy)]
pub(super) struct RowRequest<'a> {
    pub step: usize,
    pub classes: &'a Classes,
    pub list: &'a [u32],
}

/// The row by class; the default is for classes that are in none of the sets.
pub(super) fn by_class(
    states: &mut States<'_>,
    asked: RowRequest<'_>,
    next: &mut Lists,
) -> Option<Sparse> {
    let RowRequest { step, classes, list } = asked;
    let (mut stay, mut pairs) = (Vec::new(), Vec::new());
    for rule in list {
        match classes.of_rule(*rule) {
            None => stay.push(*rule),
            Some(holds) => {
                states.work(holds.len())?;
                pairs.extend(holds.iter().map(|class| (*class, *rule)));
            }
        }
    }
    pairs.sort_unstable();
    let default = states.state(step, &stay, next);
    let (mut entries, mut left) = (Vec::new(), Vec::new());
    for group in pairs.chunk_by(|one, other| one.0 == other.0) {
        left.clear();
        merge(&stay, group.iter().map(|(_, rule)| *rule), &mut left);
        states.work(left.len())?;
        entries.push((group[0].0, states.state(step, &left, next)));
    }
    Some(sparse(default, entries, classes.count))
}

/// The row by value: the first values of ranges, from 0, each with a next state. The default is for
/// packets without the field.
pub(super) fn by_value(
    states: &mut States<'_>,
    asked: RowRequest<'_>,
    sets: &Sets<'_>,
    next: &mut Lists,
) -> Option<Sparse> {
    let RowRequest { step, classes, list } = asked;
    let (mut stay, mut changes) = (Vec::new(), Vec::new());
    for rule in list {
        let Some(ranges) = classes.ranges(*rule, sets) else {
            stay.push(*rule);
            continue;
        };
        for (first, last) in ranges {
            changes.push((classes.rank(*first), *rule));
            if *last < classes.field.highest() {
                changes.push((classes.rank(last + 1), *rule));
            }
        }
    }
    changes.sort_unstable();
    let default = states.state(step, &stay, next);
    let (mut entries, mut left) = (Vec::new(), Vec::new());
    if changes.first().is_none_or(|(value, _)| *value > 0) {
        entries.push((0, default));
    }
    let mut holds: Vec<u32> = Vec::new();
    for group in changes.chunk_by(|one, other| one.0 == other.0) {
        // At a change, a rule that matches ends, and another one begins to match.
        for (_, rule) in group {
            match holds.binary_search(rule) {
                Ok(place) => drop(holds.remove(place)),
                Err(place) => holds.insert(place, *rule),
            }
        }
        left.clear();
        merge(&stay, holds.iter().copied(), &mut left);
        states.work(left.len() + 1)?;
        entries.push((group[0].0, states.state(step, &left, next)));
    }
    entries.dedup_by_key(|(_, next)| *next);
    Some(Sparse { default, entries })
}

/// Merges two ordered lists of rules.
fn merge(stay: &[u32], holds: impl Iterator<Item = u32>, into: &mut Vec<u32>) {
    let mut stay = stay.iter().copied().peekable();
    for rule in holds {
        while let Some(before) = stay.next_if(|one| *one < rule) {
            into.push(before);
        }
        into.push(rule);
    }
    into.extend(stay);
}

/// A row without entries that equal its default. If most classes have entries, the most common next
/// state becomes the default.
fn sparse(default: State, mut entries: Vec<(u32, State)>, classes: u32) -> Sparse {
    let without = (classes as usize).saturating_sub(entries.len());
    if entries.len() > without
        && let Some(common) = most_common(&entries, without)
    {
        let mut all = vec![default; classes as usize];
        for (class, next) in entries {
            all[class as usize] = next;
        }
        let entries = (0..).zip(all).filter(|(_, next)| *next != common).collect();
        return Sparse { default: common, entries };
    }
    entries.retain(|(_, next)| *next != default);
    Sparse { default, entries }
}

/// The most common next state, if more than `than` entries have it.
fn most_common(entries: &[(u32, State)], than: usize) -> Option<State> {
    let mut counts: HashMap<State, usize> = HashMap::new();
    for (_, next) in entries {
        *counts.entry(*next).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(next, count)| (*count, *next));
    most.filter(|(_, count)| *count > than).map(|(next, _)| next)
}
