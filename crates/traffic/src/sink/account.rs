//! `Account`: the counters of one source, from a program or a socket, and their sums by stream.

use std::collections::BTreeMap;

use super::report::StreamReport;
use crate::stamp::Expect;

/// The frames of one stream from one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub stream: u16,
    /// The highest number received, plus one.
    pub next: u64,
    /// Number of frames, if the end was received.
    pub end: Option<u64>,
    /// The expectation of the frames; `None` before the first one.
    pub expect: Option<Expect>,
    pub received: u64,
    pub bytes: u64,
    pub reordered: u64,
    pub duplicated: u64,
    pub late: u64,
    pub corrupted: u64,
}

impl Account {
    /// Number of sent frames, as far as known; frames after an announced end count, too.
    fn sent(&self) -> u64 {
        self.end.map_or(self.next, |end| end.max(self.next))
    }

    fn add_to(&self, stream: &mut StreamReport) {
        stream.sources += 1;
        if self.expect == Some(Expect::Drop) {
            stream.expect = Expect::Drop;
        }
        stream.received += self.received;
        stream.bytes += self.bytes;
        stream.sent = stream.sent.zip(self.end).map(|(sum, _)| sum + self.sent());
        // Late frames may have been counted before.
        stream.lost += self.sent().saturating_sub(self.received);
        stream.reordered += self.reordered;
        stream.duplicated += self.duplicated;
        stream.late += self.late;
        stream.corrupted += self.corrupted;
    }
}

/// Reports by stream id, without times.
pub(super) fn streams(accounts: impl IntoIterator<Item = Account>) -> Vec<StreamReport> {
    let mut streams = BTreeMap::new();
    for account in accounts {
        let stream =
            streams.entry(account.stream).or_insert_with(|| StreamReport::new(account.stream));
        account.add_to(stream);
    }
    let mut streams: Vec<_> = streams.into_values().collect();
    for stream in &mut streams {
        stream.wrong = match stream.expect {
            Expect::Pass => stream.lost,
            Expect::Drop => stream.received + stream.corrupted,
        };
    }
    streams
}
