//! A step from one field to the next by state and class.
//!
//! Most states go to one and the same next state for most classes, so only what differs is kept:
//! the states' rows lie in one array, displaced so that the entries of one fill the holes of
//! others. Rule: an entry says whose it is; in the place of a class that a state has no entry for
//! is another state's entry, or none, and the row's default holds.

use super::{FREE, State};

/// Rows of all states of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comb {
    /// By state.
    pub rows: Vec<Row>,
    /// At `base + class`, with 32 bits of sum; behind the end is no entry.
    pub entries: Vec<Entry>,
}

/// Where a state's entries are, and what holds for classes without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub base: u32,
    pub default: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whose it is; `FREE` for nobody's.
    pub state: State,
    pub next: State,
}

/// A row before it has a place: classes in order, those with the default left out. In front of
/// [`Runs`](super::Runs): first values in order, the first one 0, and as default what becomes of
/// packets without the field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sparse {
    pub default: State,
    pub entries: Vec<(u32, State)>,
}

impl Comb {
    /// The fullest rows are given a place first, while there are few holes to fit.
    pub(super) fn new(sparse: &[Sparse]) -> Self {
        let mut order: Vec<usize> = (0..sparse.len()).collect();
        order.sort_by_key(|state| std::cmp::Reverse(sparse[*state].entries.len()));
        let rows = sparse.iter().map(|row| Row { base: 0, default: row.default }).collect();
        let mut comb = Self { rows, entries: Vec::new() };
        let mut free = 0;
        for state in order {
            let entries = &sparse[state].entries;
            if !entries.is_empty() {
                while comb.taken(free) {
                    free += 1;
                }
                comb.place(state, comb.base(entries, free), entries);
            }
        }
        comb
    }

    pub fn next(&self, state: State, class: u32) -> State {
        let row = self.rows[state as usize];
        match self.entries.get(row.base.wrapping_add(class) as usize) {
            Some(entry) if entry.state == state => entry.next,
            _ => row.default,
        }
    }

    /// Bytes of memory that it reads.
    pub fn bytes(&self) -> usize {
        8 * (self.rows.len() + self.entries.len())
    }

    /// The first displacement that fits, of so many from the first hole on; else behind the end.
    fn base(&self, entries: &[(u32, State)], free: usize) -> u32 {
        const TRIES: usize = 256;
        let first = entries[0].0;
        let end = self.entries.len();
        let holes = (free..end).filter(|place| !self.taken(*place)).take(TRIES);
        let mut bases = holes.chain([end]).map(|place| as_u32(place).wrapping_sub(first));
        let fits = |base: &u32| {
            entries.iter().all(|(class, _)| !self.taken(base.wrapping_add(*class) as usize))
        };
        bases.find(fits).expect("there is room behind the end")
    }

    fn taken(&self, place: usize) -> bool {
        self.entries.get(place).is_some_and(|entry| entry.state != FREE)
    }

    fn place(&mut self, state: usize, base: u32, entries: &[(u32, State)]) {
        self.rows[state].base = base;
        for (class, next) in entries {
            let place = base.wrapping_add(*class) as usize;
            if place >= self.entries.len() {
                self.entries.resize(place + 1, Entry { state: FREE, next: FREE });
            }
            self.entries[place] = Entry { state: as_u32(state), next: *next };
        }
    }
}

fn as_u32(number: usize) -> u32 {
    u32::try_from(number).expect("less than 2^32 entries")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::random::Random;
    use super::*;

    #[test]
    fn rows_say_what_they_were_made_of() {
        let mut random = Random(7);
        for classes in [1, 2, 10, 1_000, 100_000] {
            let rows: Vec<Sparse> = (0..300)
                .map(|default| {
                    let count = random.below(20).pow(2);
                    let pair = |_| (random.below(classes) as u32, random.below(50) as u32);
                    let entries: BTreeMap<_, _> = (0..count).map(pair).collect();
                    Sparse { default, entries: entries.into_iter().collect() }
                })
                .collect();
            let comb = Comb::new(&rows);
            for (state, row) in rows.iter().enumerate() {
                let asked = row.entries.iter().map(|(class, _)| *class);
                for class in asked.chain((0..100).map(|_| random.below(classes) as u32)) {
                    let entry = row.entries.iter().find(|(known, _)| *known == class);
                    let next = entry.map_or(row.default, |(_, next)| *next);
                    assert_eq!(comb.next(state as u32, class), next, "{state} {class}");
                }
            }
        }
    }

    /// The promise of size: holes are filled.
    #[test]
    fn few_entries_stay_free() {
        let mut random = Random(11);
        let rows: Vec<Sparse> = (0..5_000)
            .map(|_| {
                let classes: BTreeMap<_, _> =
                    (0..3).map(|_| (random.below(4_000) as u32, 1)).collect();
                Sparse { default: 0, entries: classes.into_iter().collect() }
            })
            .collect();
        let entries: usize = rows.iter().map(|row| row.entries.len()).sum();
        let comb = Comb::new(&rows);
        assert!(comb.entries.len() < entries * 5 / 4 + 4_000, "{}", comb.entries.len());
    }
}
