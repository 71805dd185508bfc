//! Names of rules: those that people gave are unique or refused, those that are made get a number.

use std::collections::HashMap;

use crate::filter::Rule;

/// Gives rules with a made name that is taken another one. `Err` has the numbers of two rules that
/// were given the same one.
pub(super) fn distinguish(rules: &mut [Rule]) -> Result<(), Vec<(usize, usize)>> {
    let mut taken: HashMap<String, usize> = HashMap::with_capacity(rules.len());
    let mut twice = Vec::new();
    let mut made = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        if rule.name == rule.derived_name() {
            made.push(number);
        } else if let Some(other) = taken.insert(rule.name.clone(), number) {
            twice.push((other, number));
        }
    }
    for number in made {
        let name = free(&rules[number].name, |name| taken.contains_key(name));
        taken.insert(name.clone(), number);
        rules[number].name = name;
    }
    if twice.is_empty() { Ok(()) } else { Err(twice) }
}

/// The name, or with the lowest number behind it that makes it free.
pub(super) fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}
