//! Lists of addresses in a rule file, which may contain other sets.
//!
//! Rule: a list is read once, after all sets that it contains. These are copied into it, so the
//! ranges of all lists together are limited.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::read::{Reader, Value};
use crate::language::bounds::{RANGES, Work, step};
use crate::language::text::Span;
use crate::{Addresses, Sets, Source, Values};

/// Lists by the name of the set.
pub(super) type Lists<'a, 'v> = BTreeMap<&'v str, &'v Value<'a>>;

impl Reader<'_> {
    /// Reads all lists into `sets`.
    pub(super) fn lists(&mut self, lists: &Lists<'_, '_>, sets: &mut Sets) {
        let mut work = Work::of(RANGES);
        let (mut ready, mut waiting, holders) = order(lists);
        while let Some(name) = ready.pop_front() {
            let Some(whole) = self.list(name, lists[name], sets, &mut work) else {
                let reason = format!(
                    "set `{name}`: the lists, with the sets that they contain, have more than \
                     {RANGES} ranges: use these sets in rules instead"
                );
                self.wrong(lists[name], reason);
                return;
            };
            sets.insert(name, whole.0, Source::List(whole.1));
            for holder in holders.get(name).into_iter().flatten().copied() {
                step(1);
                let Some(left) = waiting.get_mut(holder) else { continue };
                *left -= 1;
                if *left == 0 {
                    waiting.remove(holder);
                    ready.push_back(holder);
                }
            }
        }
        for name in waiting.into_keys() {
            let reason = format!("set `{name}` contains itself through other sets");
            self.wrong(lists[name], reason);
        }
    }

    /// Addresses and items of a list; `None` if they exceed the limit.
    fn list(
        &mut self,
        name: &str,
        value: &Value<'_>,
        sets: &Sets,
        work: &mut Work,
    ) -> Option<(Addresses, Vec<String>)> {
        let (mut spans, mut items, mut held) = (Vec::new(), Vec::new(), BTreeSet::new());
        for item in value.get_ref().as_array().into_iter().flatten() {
            step(1);
            let Some(text) = item.get_ref().as_str() else {
                self.wrong(item, "expected an address, prefix, range or @set in quotes");
                continue;
            };
            items.push(text.to_owned());
            if let Some(other) = text.strip_prefix('@') {
                if sets.set(other).is_some() {
                    held.insert(other);
                } else {
                    let near = self.hint(other, sets.names().filter(|set| *set != name));
                    let near = near.map(|near| format!("@{near}"));
                    let reason = format!("`{text}`: unknown set");
                    self.wrong(item, super::read::with_hint(reason, near.as_deref()));
                }
                continue;
            }
            match text.parse::<Span>() {
                Ok(span) => spans.push(span),
                Err(reason) => self.wrong(item, misplaced(name, format!("`{text}`: {reason}"))),
            }
        }
        let own = Addresses::of(spans);
        Some((together(own, &held, sets, work)?, items))
    }
}

/// The addresses of a list, with those of the sets that it contains.
fn together(
    own: Addresses,
    held: &BTreeSet<&str>,
    sets: &Sets,
    work: &mut Work,
) -> Option<Addresses> {
    let held: Vec<_> = held.iter().filter_map(|name| sets.set(name)).collect();
    let ranges = own.v4.ranges().len() + own.v6.ranges().len();
    let ranges = held.iter().fold(ranges, |sum, set| sum.saturating_add(set.ranges()));
    step(ranges);
    if !work.spend(ranges) {
        return None;
    }
    if held.is_empty() {
        return Some(own);
    }
    let all = |own: &Values, of: fn(&Addresses) -> &Values| {
        let others = held.iter().flat_map(|set| of(&set.addresses).ranges());
        Values::new(own.ranges().iter().chain(others).copied())
    };
    let (v4, v6) = (all(&own.v4, |set| &set.v4), all(&own.v6, |set| &set.v6));
    Some(Addresses { v4, v6, ..Addresses::default() })
}

/// Lists that contain no other list, the number of lists in each other list, and the lists that
/// contain each list.
#[expect(clippy::type_complexity, reason = "three parts of one result, used in one place")]
fn order<'v>(
    lists: &Lists<'_, 'v>,
) -> (VecDeque<&'v str>, BTreeMap<&'v str, usize>, BTreeMap<&'v str, Vec<&'v str>>) {
    let (mut ready, mut waiting) = (VecDeque::new(), BTreeMap::new());
    let mut holders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in lists {
        let held: BTreeSet<&str> =
            members(value).filter(|other| lists.contains_key(other)).collect();
        step(1 + held.len());
        if held.is_empty() {
            ready.push_back(*name);
        } else {
            waiting.insert(*name, held.len());
        }
        held.into_iter().for_each(|other| holders.entry(other).or_default().push(name));
    }
    (ready, waiting, holders)
}

/// The names of the sets that a list contains.
fn members<'v>(value: &'v Value<'_>) -> impl Iterator<Item = &'v str> {
    let items = value.get_ref().as_array().into_iter().flat_map(|items| items.iter());
    items.filter_map(|item| item.get_ref().as_str()?.strip_prefix('@'))
}

/// Adds a hint to an error: in TOML, a key belongs to the table that precedes it.
fn misplaced(set: &str, reason: String) -> String {
    match set {
        "rules" | "default" => format!("{reason}; `{set}` must precede [policy] and [sets]"),
        _ => reason,
    }
}
