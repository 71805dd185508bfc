//! `Lines`: line numbers of a text by offset, counted once instead of once per error.

use crate::language::bounds::step;

/// The offsets where lines begin.
#[derive(Debug)]
pub(super) struct Lines(Vec<usize>);

impl Lines {
    /// The lines of a text.
    pub fn of(text: &str) -> Self {
        step(text.len());
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The line number of an offset, from 1.
    pub fn line(&self, at: usize) -> usize {
        step(1);
        self.0.partition_point(|begin| *begin <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_have_lines() {
        let lines = Lines::of("a\n\nbc\n");
        let numbers: Vec<_> = (0..=7).map(|at| lines.line(at)).collect();
        assert_eq!(numbers, [1, 1, 2, 3, 3, 3, 4, 4]);
    }
}
