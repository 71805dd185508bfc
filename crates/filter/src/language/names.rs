//! `Unique`: names that are used once.

use std::collections::HashMap;

use crate::language::bounds::step;

/// The names that are taken, each with the suffix to try next. Many requests for the same name thus
/// do not count from the beginning each time.
#[derive(Debug, Default)]
pub(crate) struct Unique(HashMap<String, u64>);

impl Unique {
    /// Takes a name; `false` if it is taken.
    pub fn take(&mut self, name: &str) -> bool {
        step(1);
        if self.0.contains_key(name) {
            return false;
        }
        self.0.insert(name.to_owned(), FIRST);
        true
    }

    /// Takes a name, or the first free one of `name-2`, `name-3` …, where `-` is the separator.
    pub fn free(&mut self, name: &str, separator: char) -> String {
        if self.take(name) {
            return name.to_owned();
        }
        let mut number = self.0.get(name).copied().unwrap_or(FIRST);
        let free = loop {
            let numbered = format!("{name}{separator}{number}");
            number += 1;
            if self.take(&numbered) {
                break numbered;
            }
        };
        if let Some(next) = self.0.get_mut(name) {
            *next = number;
        }
        free
    }
}

/// The suffix of the second use of a name.
const FIRST: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::bounds::counted::assert_linear;

    #[test]
    fn numbers_go_on_and_leave_out_what_is_taken() {
        let mut names = Unique::default();
        assert!(names.take("a-3") && !names.take("a-3"));
        let given: Vec<_> = (0..4).map(|_| names.free("a", '-')).collect();
        assert_eq!(given, ["a", "a-2", "a-4", "a-5"]);
        assert_eq!(names.free("a-3", '.'), "a-3.2");
    }

    #[test]
    fn names_are_not_counted_from_the_beginning() {
        assert_linear("equal names", 10_000, |length| {
            let mut names = Unique::default();
            (0..length).for_each(|_| _ = names.free("rule", '-'));
        });
    }
}
