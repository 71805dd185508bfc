//! What arrived.
//!
//! The books are exact: of every stream whose end was seen, `sent` = `received` + `lost`.
//! A corrupted frame did not arrive: its number stays open and is lost unless a good copy comes.

use std::time::Duration;

use serde::Serialize;

use crate::histogram::Histogram;
use crate::stamp::Expect;

/// What a sink counted so far, or in the end. Serialized as [`Summary`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(into = "Summary")]
pub struct SinkReport {
    /// Time since the sink was started.
    pub elapsed: Duration,
    /// Sorted by id.
    pub streams: Vec<StreamReport>,
    /// Frames without a stamp, and, where the sink verifies, ICMP errors that quote one with a
    /// stamp; they went on to the stack.
    pub foreign: u64,
    pub foreign_bytes: u64,
    /// Frames whose stamp is damaged and names no stream that is known.
    pub damaged: u64,
    /// Stamped frames of more streams or sources than there is room for.
    pub beyond: u64,
    /// Frames that this sink did not read in time, of any kind; they are among the lost ones.
    /// Always 0 in XDP.
    pub missed: u64,
}

/// One stream, all of its sources together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamReport {
    /// Place of the stream in its file, from 0.
    pub id: u16,
    /// Name of the stream, known only where the sender is: with `gen --sink`.
    pub name: Option<String>,
    /// What should happen to its frames: `pass` or `drop`.
    pub expect: Expect,
    /// Different frames that arrived whole: no duplicates, no corrupted ones.
    pub received: u64,
    /// Frames sent, or up to the highest number seen where `sent` is `null`, that were not
    /// received. Frames that the sender's interface did not take are among them.
    pub lost: u64,
    /// Frames received after one with a higher number.
    pub reordered: u64,
    /// Frames that arrived again.
    pub duplicated: u64,
    /// Frames with a checksum that does not agree: the stamp's own, or, where the sink verifies,
    /// that of the IPv4 header, UDP, TCP, ICMP or ICMPv6.
    pub corrupted: u64,
    /// Time from the sender's stamp to the sink, or there and back for reflected frames, of every
    /// frame received. Empty when the clocks have nothing in common.
    pub latency_ns: Histogram,
    /// Difference between the latencies of a frame and the one before, of the same source on the
    /// same processor.
    pub jitter_ns: Histogram,
    /// Frames sent, from the sender's end stamps; `null` when one of these did not arrive.
    pub sent: Option<u64>,
    /// Frames later than the window, which may be duplicates; counted in `received` and
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

    /// Frames of all streams.
    pub fn received(&self) -> u64 {
        self.streams.iter().map(|stream| stream.received).sum()
    }

    /// Frames of all streams.
    pub fn lost(&self) -> u64 {
        self.streams.iter().map(|stream| stream.lost).sum()
    }

    /// Frames of all streams; see [`StreamReport::wrong`].
    pub fn wrong(&self) -> u64 {
        self.streams.iter().map(|stream| stream.wrong).sum()
    }
}

/// What arrived, with its sums and the judgement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Streams that were seen, sorted by id.
    pub streams: Vec<StreamReport>,
    /// Different frames of all streams that arrived whole.
    pub received: u64,
    /// Lost frames of all streams.
    pub lost: u64,
    /// Frames of all streams that did not behave as `expect` says.
    pub wrong: u64,
    /// Time from the sink's start, in seconds.
    pub seconds: f64,
    /// Frames without a stamp, which were left to the stack.
    pub foreign: u64,
    /// Bytes of the frames without a stamp.
    pub foreign_bytes: u64,
    /// Frames with a damaged stamp that names no known stream.
    pub damaged: u64,
    /// Frames of more streams or senders than there is room for.
    pub beyond: u64,
    /// Frames that were not read in time, with `--via stack`; they are among the lost ones.
    pub missed: u64,
    /// Whether all frames behaved as expected.
    pub judgement: Judgement,
}

/// Whether all frames behaved as expected, and what did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// `false` when frames were lost, let through, corrupted, duplicated or beyond, or none
    /// arrived. Reordered frames are no reason.
    pub good: bool,
    /// What is wrong, a sentence for people each.
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
            judgement: Judgement::of(&report),
            streams: report.streams,
        }
    }
}

impl Judgement {
    /// Networks may reorder frames, but not lose, admit, damage or duplicate them.
    pub fn of(report: &SinkReport) -> Self {
        let sum = |expect, field: fn(&StreamReport) -> u64| -> u64 {
            report.streams.iter().filter(|one| one.expect == expect).map(field).sum()
        };
        let counts = [
            (sum(Expect::Pass, |one| one.lost), "frames lost that should have arrived"),
            (sum(Expect::Drop, |one| one.wrong), "frames arrived that should not have"),
            (sum(Expect::Pass, |one| one.corrupted) + report.damaged, "frames corrupted"),
            (sum(Expect::Pass, |one| one.duplicated), "frames twice"),
            (report.beyond, "frames of streams without room"),
        ];
        let wrong = counts.into_iter().filter(|(count, _)| *count > 0);
        let mut reasons: Vec<_> = wrong.map(|(count, what)| format!("{count} {what}")).collect();
        if report.streams.is_empty() {
            reasons.push("no stamped frame arrived".to_owned());
        }
        Self { good: reasons.is_empty(), reasons }
    }
}
