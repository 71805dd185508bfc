//! The result of a sink.
//!
//! The counters are exact: for every stream whose end was received, `sent` = `received` + `lost`. A
//! corrupted frame does not count as received: its number is lost unless an intact copy arrives.
//!
//! Rule: what the sender's interface did not accept is not lost. Only the sender knows it, so it is
//! excluded where both run together ([`SinkReport::exclude_unsent`]).

use std::time::Duration;

use serde::Serialize;

use crate::histogram::Histogram;
use crate::stamp::Expect;

/// The counters of a sink at one time, or at the end. Serialized as [`Summary`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(into = "Summary")]
pub struct SinkReport {
    /// Time since the sink was started.
    pub elapsed: Duration,
    /// Sorted by id.
    pub streams: Vec<StreamReport>,
    /// Frames without a stamp, which were passed to the stack. If the sink verifies, ICMP errors
    /// that quote a stamped frame are among them.
    pub foreign: u64,
    pub foreign_bytes: u64,
    /// Frames with a damaged stamp that does not belong to a known stream.
    pub damaged: u64,
    /// Stamped frames of streams or sources beyond the sink's capacity.
    pub beyond: u64,
    /// Frames of any kind that this sink did not read in time; they count as lost, too. Always 0 in
    /// XDP.
    pub missed: u64,
    /// Frames with missing numbers that the sender's interface did not accept.
    pub not_sent: u64,
}

/// One stream, including all of its sources.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamReport {
    /// Index of the stream in its file, from 0.
    pub id: u16,
    /// Name of the stream. Only the sender knows it: set with `gen --sink`.
    pub name: Option<String>,
    /// Expected treatment of its frames: `pass` or `drop`.
    pub expect: Expect,
    /// Different frames that arrived intact: no duplicates, no corrupted ones.
    pub received: u64,
    /// Frames that were sent and not received; where `sent` is `null`, those that are missing up to
    /// the highest number seen. Includes frames that the sender's interface did not accept, unless
    /// the sink belongs to a `gen --sink` with one stream.
    pub lost: u64,
    /// Frames received after one with a higher number.
    pub reordered: u64,
    /// Further copies of frames that had already arrived.
    pub duplicated: u64,
    /// Frames with a wrong checksum: the stamp's own, or, if the sink verifies, that of the IPv4
    /// header, UDP, TCP, ICMP or ICMPv6.
    pub corrupted: u64,
    /// Time from the sender's stamp to the sink, or the round-trip time for reflected frames, of
    /// every frame received. Empty when the clocks cannot be compared.
    pub latency_ns: Histogram,
    /// Difference between the latencies of a frame and the previous one of the same source on the
    /// same processor.
    pub jitter_ns: Histogram,
    /// Frames sent, from the sender's end stamps; `null` when one of them did not arrive.
    pub sent: Option<u64>,
    /// Frames that arrived after the window, and may be duplicates; counted in `received` and
    /// `reordered`.
    pub late: u64,
    /// Frames that were lost although they should pass, or arrived in any state although they
    /// should be dropped.
    pub wrong: u64,
    /// Bytes of the frames received.
    pub bytes: u64,
    /// Threads that sent the stream.
    pub sources: u32,
}

impl StreamReport {
    /// A stream without frames.
    pub(super) fn new(id: u16) -> Self {
        Self {
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
}

impl SinkReport {
    /// Names the streams with these ids.
    pub fn name_streams(&mut self, names: &[(u16, String)]) {
        for stream in &mut self.streams {
            let known = names.iter().find(|(id, _)| *id == stream.id);
            stream.name = known.map(|(_, name)| name.clone());
        }
    }

    pub fn stream(&self, id: u16) -> Option<&StreamReport> {
        self.streams.iter().find(|stream| stream.id == id)
    }

    /// Received frames of all streams.
    pub fn received(&self) -> u64 {
        self.streams.iter().map(|stream| stream.received).sum()
    }

    /// Lost frames of all streams.
    pub fn lost(&self) -> u64 {
        self.missing(|_| true)
    }

    /// Lost frames of some streams.
    fn missing(&self, of: impl Fn(&StreamReport) -> bool) -> u64 {
        let missing: u64 = self.streams.iter().filter(|one| of(one)).map(|one| one.lost).sum();
        missing.saturating_sub(self.unattributed())
    }

    /// Frames that were not sent and are still in the counters `lost` of several streams.
    fn unattributed(&self) -> u64 {
        if self.streams.len() > 1 { self.not_sent } else { 0 }
    }

    /// Excludes frames that the sender's interface did not accept from those that are lost. Where
    /// there are several streams, they are excluded from the totals: which stream they belong to is
    /// not known.
    pub fn exclude_unsent(&mut self, not_sent: u64) {
        self.not_sent = not_sent.min(self.lost());
        let excluded = self.not_sent;
        let [only] = &mut self.streams[..] else { return };
        only.lost -= excluded;
        only.sent = only.sent.map(|sent| sent.saturating_sub(excluded));
        if only.expect == Expect::Pass {
            only.wrong = only.wrong.saturating_sub(excluded);
        }
    }

    /// Frames of all streams that did not behave as expected; see [`StreamReport::wrong`].
    pub fn wrong(&self) -> u64 {
        let wrong: u64 = self.streams.iter().map(|stream| stream.wrong).sum();
        let passing = self.streams.iter().filter(|one| one.expect == Expect::Pass);
        wrong - self.unattributed().min(passing.map(|one| one.wrong).sum())
    }
}

/// The result of a sink, with its totals and the judgement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Streams that were seen, sorted by id.
    pub streams: Vec<StreamReport>,
    /// Different frames of all streams that arrived intact.
    pub received: u64,
    /// Lost frames of all streams.
    pub lost: u64,
    /// Frames of all streams that did not behave as `expect` specifies.
    pub wrong: u64,
    /// Time from the sink's start, in seconds.
    pub seconds: f64,
    /// Frames without a stamp, which were passed to the stack.
    pub foreign: u64,
    /// Bytes of the frames without a stamp.
    pub foreign_bytes: u64,
    /// Frames with a damaged stamp that does not belong to a known stream.
    pub damaged: u64,
    /// Frames of streams or senders beyond the sink's capacity.
    pub beyond: u64,
    /// Frames that were not read in time, with `--via stack`; they count as lost, too.
    pub missed: u64,
    /// Frames with missing numbers that the sender's interface did not accept. They are not part of
    /// the total `lost`. Known with `gen --sink`, otherwise 0.
    pub not_sent: u64,
    /// Whether all frames behaved as expected.
    pub judgement: Judgement,
}

/// Whether all frames behaved as expected, and the reasons if not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// `false` when frames were lost, let through, corrupted, duplicated or beyond the capacity, or
    /// none arrived. Reordered frames do not matter.
    pub good: bool,
    /// The reasons, each a sentence.
    pub reasons: Vec<String>,
}

impl From<SinkReport> for Summary {
    fn from(report: SinkReport) -> Self {
        Self {
            received: report.received(),
            lost: report.lost(),
            wrong: report.wrong(),
            seconds: report.elapsed.as_secs_f64(),
            foreign: report.foreign,
            foreign_bytes: report.foreign_bytes,
            damaged: report.damaged,
            beyond: report.beyond,
            missed: report.missed,
            not_sent: report.not_sent,
            judgement: Judgement::of(&report),
            streams: report.streams,
        }
    }
}

impl Judgement {
    /// Networks may reorder frames, but must not lose, admit, damage or duplicate them.
    pub fn of(report: &SinkReport) -> Self {
        let sum = |expect, field: fn(&StreamReport) -> u64| -> u64 {
            report.streams.iter().filter(|one| one.expect == expect).map(field).sum()
        };
        let counts = [
            (
                report.missing(|one| one.expect == Expect::Pass),
                "frames lost that should have arrived",
            ),
            (sum(Expect::Drop, |one| one.wrong), "frames arrived that should not have"),
            (sum(Expect::Pass, |one| one.corrupted) + report.damaged, "frames corrupted"),
            (sum(Expect::Pass, |one| one.duplicated), "frames duplicated"),
            (report.beyond, "frames of streams beyond the sink's capacity"),
        ];
        let wrong = counts.into_iter().filter(|(count, _)| *count > 0);
        let mut reasons: Vec<_> = wrong.map(|(count, what)| format!("{count} {what}")).collect();
        if report.streams.is_empty() {
            reasons.push("no stamped frame arrived".to_owned());
        }
        Self { good: reasons.is_empty(), reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(expect: Expect, received: u64, lost: u64) -> StreamReport {
        let wrong = if expect == Expect::Pass { lost } else { received };
        let sent = Some(received + lost);
        StreamReport { expect, received, lost, wrong, sent, ..StreamReport::new(0) }
    }

    fn report(streams: Vec<StreamReport>) -> SinkReport {
        SinkReport { streams, ..SinkReport::default() }
    }

    #[test]
    fn frames_that_were_not_sent_are_not_lost() {
        let mut one = report(vec![stream(Expect::Pass, 90, 10)]);
        one.exclude_unsent(10);
        assert_eq!((one.lost(), one.wrong(), one.not_sent), (0, 0, 10));
        assert_eq!((one.streams[0].lost, one.streams[0].sent), (0, Some(90)));
        assert!(Judgement::of(&one).good);

        let mut two = report(vec![stream(Expect::Pass, 90, 10), stream(Expect::Pass, 95, 5)]);
        two.exclude_unsent(12);
        assert_eq!((two.lost(), two.wrong(), two.not_sent), (3, 3, 12));
        assert_eq!(two.streams[0].lost, 10, "it is not known whose they are");
        assert!(!Judgement::of(&two).good);
    }

    #[test]
    fn no_more_than_is_missing_is_excluded() {
        let mut all = report(vec![stream(Expect::Drop, 1, 99), stream(Expect::Pass, 95, 5)]);
        all.exclude_unsent(1_000);
        assert_eq!((all.lost(), all.wrong()), (0, 1));
        assert!(!Judgement::of(&all).good, "a frame arrived that should not have");
        let mut none = SinkReport::default();
        none.exclude_unsent(7);
        assert_eq!((none.lost(), none.not_sent), (0, 0));
    }
}
