//! Limits on input from outside, and on the work that reading it takes.
//!
//! Rule: work and memory are at most linear in the input. Where input expands (a set in many lists,
//! a chain that is jumped to), the expansion is counted by [`Work`] and has a limit. Not here:
//! limits of programs (`compile`).

/// The most bytes of a rule file, of the file of a set, and of the listing of another tool. A set
/// of a million IPv6 prefixes takes at most 45 MB.
pub const TEXT: u64 = 256 << 20;

/// The most ranges of values in all rules of a file, and in all its lists: 512 MiB each.
pub const RANGES: usize = 1 << 24;

/// The most tests of one rule.
pub const TESTS: usize = 256;

/// The most errors of one file that suggest a name: each suggestion compares all names.
pub const HINTS: usize = 20;

/// Steps for the chains of an nft listing, in addition to [`EXPANSION`] per value in it.
pub const STEPS: usize = 1 << 22;

/// How often an average value of an nft listing may be read, because rules jump to its chain or use
/// its set several times.
pub const EXPANSION: usize = 16;

/// A budget of work.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    most: usize,
    spent: usize,
}

impl Work {
    /// A budget of this amount.
    pub const fn of(most: usize) -> Self {
        Self { most, spent: 0 }
    }

    /// Spends an amount; `false` if less was left.
    #[must_use]
    pub const fn spend(&mut self, amount: usize) -> bool {
        self.spent = self.spent.saturating_add(amount);
        self.spent <= self.most
    }
}

/// Counts steps of parsers for tests that compare inputs of different lengths.
pub(crate) fn step(steps: usize) {
    #[cfg(test)]
    counted::add(steps);
    #[cfg(not(test))]
    let _ = steps;
}

#[cfg(test)]
pub(crate) mod counted {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Adds steps to the count of this thread.
    pub fn add(steps: usize) {
        STEPS.set(STEPS.get() + steps);
    }

    /// Steps that something takes.
    pub fn steps<T>(what: impl FnOnce() -> T) -> usize {
        let before = STEPS.get();
        what();
        STEPS.get() - before
    }

    /// Fails unless an input of twice the length takes at most little more than twice the steps.
    #[track_caller]
    pub fn assert_linear(what: &str, length: usize, run: impl Fn(usize)) {
        let [one, two] = [length, 2 * length].map(|length| steps(|| run(length)));
        println!("{what}: {one} steps for {length}, {two} for {}", 2 * length);
        assert!(one > 0, "{what}: no step was counted");
        assert!(two <= 2 * one + one / 4 + 64, "{what}: {one} steps, then {two}");
    }
}
