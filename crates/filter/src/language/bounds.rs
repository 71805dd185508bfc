//! Bounds of what is read from outside, by name, and the work that reading takes.
//!
//! Rule: work and memory are at most linear in the input. Where the words of an input mean more
//! than they say (a set in many lists, a chain that is jumped to), what they mean is counted by
//! [`Work`] and ends at a bound. Not here: what a program may have (`compile`).

/// Bytes of a file of rules, of the file of a set, and of another tool's listing. As a set, a
/// million IPv6 prefixes take 45 MB at most.
pub const TEXT: u64 = 256 << 20;

/// Ranges of values in all rules of a file, and in all its lists of addresses: 512 MiB each.
pub const RANGES: usize = 1 << 24;

/// Tests of one rule.
pub const TESTS: usize = 256;

/// Errors of one file that propose a name that was perhaps meant: each compares all names.
pub const HINTS: usize = 20;

/// Steps for the chains of an nft listing, beside [`EXPANSION`] for each value in it.
pub const STEPS: usize = 1 << 22;

/// How often an average value of an nft listing may be read, because its chain is jumped to or its
/// set is named several times.
pub const EXPANSION: usize = 16;

/// Units of work that are left.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    most: usize,
    spent: usize,
}

impl Work {
    pub const fn of(most: usize) -> Self {
        Self { most, spent: 0 }
    }

    /// Whether there was as much left.
    #[must_use]
    pub const fn spend(&mut self, amount: usize) -> bool {
        self.spent = self.spent.saturating_add(amount);
        self.spent <= self.most
    }
}

/// Counts steps of parsers, for tests that compare inputs of several lengths.
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
