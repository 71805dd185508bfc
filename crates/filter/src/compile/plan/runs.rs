//! `Runs`: the next state by value, for states with few remaining rules. Each state has a sorted
//! run of values, each with the next state from there on.
//!
//! Rule: the keys of all runs are one sorted array of state and value, so a search that reads
//! beyond its run sees only greater keys. The cost of a run depends on the ranges of the rules in
//! its state only, not on the other rules.

use super::State;
use super::comb::Sparse;

/// The runs of all states of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// By state.
    pub rows: Vec<RunRow>,
    /// The state in the high half, the first value in the low half; a run begins with value 0.
    /// Sentinels, which are greater than all keys, follow the last run.
    pub keys: Vec<u64>,
    /// The next states, by index of the key.
    pub next: Vec<State>,
    /// Probes for the longest run; see [`Ranges::probe`](super::Ranges::probe). At most 8.
    pub probes: u32,
}

/// The run of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// The beginning of the run in `keys`.
    pub start: u32,
    /// Probes for this run, which may be fewer than those of the step.
    pub probes: u32,
    /// The next state of packets without the field.
    pub absent: State,
}

impl Runs {
    /// The most ranges of a run.
    pub const LONGEST: usize = (1 << Self::PROBES) - 1;
    const PROBES: u32 = 8;

    /// Runs from rows whose entries are first values, of which the first is 0.
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

    /// The next state by state and value.
    pub fn next(&self, state: State, value: u32) -> State {
        let row = self.rows[state as usize];
        let key = u64::from(state) << 32 | u64::from(value);
        let found = super::Ranges::probe(self.probes).fold(row.start as usize, |place, step| {
            if self.keys[place + step] <= key { place + step } else { place }
        });
        self.next[found]
    }

    /// The next state of packets without the field.
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
    fn runs_have_their_entries() {
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
