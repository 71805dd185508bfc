//! Unique names of rules: equal given names are an error, equal derived names get a number.

use std::collections::HashMap;

use crate::Rule;
use crate::language::names::Unique;

/// Gives rules another name if their derived name is taken. `Err` has the numbers of pairs of rules
/// that were given the same name.
pub(super) fn distinguish(rules: &mut [Rule]) -> Result<(), Vec<(usize, usize)>> {
    let mut given: HashMap<String, usize> = HashMap::new();
    let mut names = Unique::default();
    let mut twice = Vec::new();
    let mut made = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        if rule.name == rule.derived_name() {
            made.push(number);
        } else if let Some(other) = given.insert(rule.name.clone(), number) {
            twice.push((other, number));
        } else {
            names.take(&rule.name);
        }
    }
    for number in made {
        rules[number].name = names.free(&rules[number].name, '-');
    }
    if twice.is_empty() { Ok(()) } else { Err(twice) }
}
