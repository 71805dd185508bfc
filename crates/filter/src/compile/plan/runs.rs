//! A step from one field to the next, where states have few rules left: each state has a sorted
//! run of values of its own, with the next state from each on.
//!
//! Rule: the keys of all runs are one sorted array, with the state in front of the value, so a
//! search that looks behind its run sees greater keys only and needs no end. What a run costs
//! depends on the ranges of the rules in its state, and not on how finely others part the field.

use super::State;
use super::comb::Sparse;

/// Runs of all states of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// By state.
    pub rows: Vec<RunRow>,
    /// The state in the high half, the first value in the low one; the first of a run has value 0.
    /// Behind all runs are sentinels, greater than any.
    pub keys: Vec<u64>,
    /// By place of the key.
    pub next: Vec<State>,
    /// Enough for the longest run; see [`Ranges::probe`](super::Ranges::probe). At most 8.
    pub probes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// Where the run begins in `keys`.
    pub start: u32,
    /// Enough probes for this run: fewer than those of the step where it is short.
    pub probes: u32,
    /// Where packets go that do not have the field.
    pub absent: State,
}

impl Runs {
    /// Ranges in the longest run that is searched.
    pub const LONGEST: usize = (1 << Self::PROBES) - 1;
    const PROBES: u32 = 8;

    /// From rows whose entries are first values, each run's first one 0.
    pub(super) fn new(sparse: &[Sparse]) -> Self {
        let mut runs = Self::default();
        for (state, row) in (0_u64..).zip(sparse) {
            assert_eq!(row.entries.first().map(|entry| entry.0), Some(0), "a run begins at 0");
            let start = u32::try_from(runs.keys.len()).expect("less than 2^32 entries");
            let probes = row.entries.len().ilog2() + u32::from(row.entries.len() > 1);
            runs.rows.push(RunRow { start, probes, absent: row.default });
            runs.probes = runs.probes.max(probes);
            runs.keys.extend(row.entries.iter().map(|(first, _)| state << 32 | u64::from(*first)));
            runs.next.extend(row.entries.iter().map(|(_, next)| *next));
        }
        let padding = (1 << runs.probes) - 1;
        runs.keys.extend(std::iter::repeat_n(u64::MAX, padding));
        runs.next.extend(std::iter::repeat_n(super::NO_RULE, padding));
        runs
    }

    /// The next state by a value; with the step's number of probes, or the row's own.
    pub fn next(&self, state: State, value: u32) -> State {
        let row = self.rows[state as usize];
        let key = u64::from(state) << 32 | u64::from(value);
        let found = super::Ranges::probe(self.probes).fold(row.start as usize, |place, step| {
            if self.keys[place + step] <= key { place + step } else { place }
        });
        self.next[found]
    }

    pub fn absent(&self, state: State) -> State {
        self.rows[state as usize].absent
    }

    /// Bytes of memory that it reads.
    pub fn bytes(&self) -> usize {
        12 * (self.rows.len() + self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_say_what_they_were_made_of() {
        let row = |entries: &[(u32, State)]| Sparse { default: 99, entries: entries.to_vec() };
        let rows = [
            row(&[(0, 1)]),
            row(&[(0, 2), (5, 3)]),
            row(&[(0, 4), (1, 5), (2, 6), (u32::MAX, 7)]),
            row(&(0..255).map(|one| (one * 1_000, one)).collect::<Vec<_>>()),
        ];
        let runs = Runs::new(&rows);
        assert_eq!(runs.probes, 8);
        assert_eq!(runs.rows[0].probes, 0);
        assert_eq!(runs.rows[1].probes, 2);
        for (state, row) in (0..).zip(&rows) {
            for value in (0..300_000).step_by(7).chain([u32::MAX - 1, u32::MAX]) {
                let place = row.entries.partition_point(|(first, _)| *first <= value) - 1;
                assert_eq!(runs.next(state, value), row.entries[place].1, "{state} {value}");
            }
            assert_eq!(runs.absent(state), 99);
        }
    }
}
