//! The trace log: lines that programs printed. It is bounded; the oldest lines are dropped and
//! counted.

use std::collections::VecDeque;

use crate::limits;

/// One line that a program printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// The processor that printed it.
    pub cpu: u32,
    /// Nanoseconds since boot.
    pub time_ns: u64,
    /// The formatted text.
    pub text: String,
}

/// The lines that were not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Log {
    lines: VecDeque<TraceLine>,
    lost: u64,
}

impl Log {
    pub fn push(&mut self, line: TraceLine) {
        if self.lines.len() == limits::TRACE_LINES {
            self.lines.pop_front();
            self.lost += 1;
        }
        self.lines.push_back(line);
    }

    /// Takes the lines, oldest first, and the number of older lines that were lost.
    pub fn take(&mut self) -> (Vec<TraceLine>, u64) {
        (self.lines.drain(..).collect(), std::mem::take(&mut self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_lines_are_lost_and_counted() {
        let mut log = Log::default();
        for number in 0..limits::TRACE_LINES as u64 + 2 {
            log.push(TraceLine { cpu: 0, time_ns: number, text: String::new() });
        }
        let (lines, lost) = log.take();
        assert_eq!((lines.len(), lost, lines[0].time_ns), (limits::TRACE_LINES, 2, 2));
        assert_eq!(log.take(), (Vec::new(), 0));
    }
}
