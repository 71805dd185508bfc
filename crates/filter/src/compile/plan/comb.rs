//! `Comb`: the next state by state and class.
//!
//! Most states have the same next state for most classes, so only the exceptions are stored. The
//! rows of all states share one array, displaced so that entries of one row fill the holes of
//! others. Rule: an entry names its state. Where a state has no entry for a class, there is an
//! entry of another state or none, and the default of the row applies.

use super::{FREE, State};

/// The transitions of all states of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comb {
    /// By state.
    pub rows: Vec<Row>,
    /// The entry at `base + class`, computed with 32 bits; there is none beyond the end.
    pub entries: Vec<Entry>,
}

/// The place of a state's entries, and the next state for classes without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub base: u32,
    pub default: State,
}

/// The next state for one state and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The state that the entry belongs to; `FREE` for a hole.
    pub state: State,
    pub next: State,
}

/// A row before it is placed: the classes with another state than the default, in order. For
/// [`Runs`](super::Runs): the first values of ranges in order, from 0, and as default the next
/// state of packets without the field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sparse {
    pub default: State,
    pub entries: Vec<(u32, State)>,
}

impl Comb {
    /// Places the rows, the longest first.
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

    /// The next state by state and class.
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

    /// The first displacement that fits, of a number of holes; otherwise the end of the array.
    fn base(&self, entries: &[(u32, State)], free: usize) -> u32 {
        const TRIES: usize = 256;
        let first = entries[0].0;
        let end = self.entries.len();
        let holes = (free..end).filter(|place| !self.taken(*place)).take(TRIES);
        let mut bases = holes.chain([end]).map(|place| as_u32(place).wrapping_sub(first));
        let fits = |base: &u32| {
            entries.iter().all(|(class, _)| !self.taken(base.wrapping_add(*class) as usize))
        };
        bases.find(fits).expect("the end of the array has no entries")
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
    fn rows_have_their_entries() {
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

    /// Most holes are filled.
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
