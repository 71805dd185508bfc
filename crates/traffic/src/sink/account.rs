//! `Account`: what is known of one source, however it was counted; and what accounts add up to.

use std::collections::BTreeMap;

use super::report::StreamReport;
use crate::histogram::Histogram;
use crate::stamp::Expect;

/// One thread's frames of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub stream: u16,
    /// The highest number received, plus one.
    pub next: u64,
    /// How many there were, when the end was seen.
    pub end: Option<u64>,
    /// Nothing before data came.
    pub expect: Option<Expect>,
    pub received: u64,
    pub bytes: u64,
    pub reordered: u64,
    pub duplicated: u64,
    pub late: u64,
    pub corrupted: u64,
}

impl Account {
    /// As far as is known: a sender that went on behind its end is believed.
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

/// Reports by id, without times.
pub(super) fn streams(accounts: impl IntoIterator<Item = Account>) -> Vec<StreamReport> {
    let mut streams = BTreeMap::new();
    for account in accounts {
        let stream = streams.entry(account.stream).or_insert_with(|| empty(account.stream));
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

fn empty(id: u16) -> StreamReport {
    StreamReport {
        id,
        name: None,
        expect: Expect::default(),
        received: 0,
        lost: 0,
        reordered: 0,
        duplicated: 0,
        corrupted: 0,
        latency_ns: Histogram::default(),
        jitter_ns: Histogram::default(),
        sent: Some(0),
        late: 0,
        wrong: 0,
        bytes: 0,
        sources: 0,
    }
}
