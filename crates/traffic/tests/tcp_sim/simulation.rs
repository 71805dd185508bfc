//! `Simulation`: sender, auditors, two links and a peer, driven by a timetable.

use std::collections::HashMap;

use super::auditor::{Auditor, Count};
use super::link::Link;
use super::peer::{FlowId, Peer};
use super::segment::Segment;
use super::timetable::Timetable;
use super::{MS, Time, US};

/// The host under test, which sends all flows.
pub trait Sender {
    /// Runs the sender for a batch of frames; returns the frames that it sends.
    fn send(&mut self, now: Time) -> Vec<Vec<u8>>;
    /// Number of frames of a batch.
    fn batch(&self) -> usize;
    /// Processes a received frame; returns its immediate answer.
    fn receive(&mut self, now: Time, frame: &[u8]) -> Option<Vec<u8>>;
    /// Whether every connection has ended.
    fn is_done(&self) -> bool;
}

pub struct Simulation<S> {
    pub sender: S,
    pub there: Link,
    pub back: Link,
    pub peer: Peer,
    pub auditors: HashMap<FlowId, Auditor>,
    pub complaints: Vec<String>,
    pub now: Time,
    /// Whether auditors keep logs.
    pub keeps_logs: bool,
    /// Shortest pause after a batch without frames; a 64th of the time since the last frame if that
    /// is longer.
    pub pause: Time,
    sent_at: Time,
    is_done: bool,
    timetable: Timetable<Event>,
    polls_at: Time,
}

enum Event {
    /// The sender runs.
    Poll,
    AtPeer(Segment),
    AtSender(Segment),
    /// A segment reaches the sender that the peer did not send.
    Forged(Segment),
    Tick(FlowId),
}

impl<S: Sender> Simulation<S> {
    pub fn new(sender: S, there: Link, back: Link, peer: Peer) -> Self {
        Self {
            sender,
            there,
            back,
            peer,
            auditors: HashMap::new(),
            complaints: Vec::new(),
            now: 0,
            keeps_logs: true,
            pause: 100 * US,
            sent_at: 0,
            is_done: false,
            timetable: Timetable::new(),
            polls_at: Time::MAX,
        }
    }

    /// Runs until the sender has finished and the segments in flight have arrived, and a little
    /// longer.
    ///
    /// # Panics
    /// If the sender has not finished by `limit`.
    pub fn run(&mut self, limit: Time) {
        self.run_while(limit, |simulation| !simulation.is_done);
        assert!(self.sender.is_done(), "not done after {} ms\n{}", self.now / MS, self.tell());
        let until = self.now + 20 * MS + self.there.delay + self.back.delay;
        self.run_while(until, |_| true);
    }

    /// Runs while `goes_on` returns true, at most until `limit`.
    pub fn run_while(&mut self, limit: Time, goes_on: impl Fn(&Self) -> bool) {
        self.poll_at(self.now);
        while self.timetable.next_at().is_some_and(|at| at <= limit) && goes_on(self) {
            let Some((at, event)) = self.timetable.next() else { return };
            self.now = at;
            match event {
                // Other polls were entered before an earlier one.
                Event::Poll if at == self.polls_at => self.poll(),
                Event::Poll => {}
                Event::AtPeer(segment) => {
                    let answers = self.peer.take(&segment, self.now);
                    self.answer(FlowId::of(&segment), answers);
                }
                Event::AtSender(segment) => self.deliver(&segment),
                Event::Forged(segment) => self.hand_over(&segment),
                Event::Tick(id) => self.tick(id),
            }
        }
    }

    /// Delivers a segment that the peer did not send; the auditors do not see it.
    pub fn forge(&mut self, at: Time, segment: Segment) {
        self.timetable.enter(at, Event::Forged(segment));
    }

    /// The flow of a scenario with one flow.
    pub fn flow(&self) -> &Auditor {
        assert_eq!(self.auditors.len(), 1, "flows");
        self.auditors.values().next().unwrap()
    }

    /// The totals of all flows.
    pub fn total(&self) -> Count {
        let mut total = Count::default();
        for Auditor { count, .. } in self.auditors.values() {
            total.segments += count.segments;
            total.data += count.data;
            total.bytes += count.bytes;
            total.again += count.again;
            total.needless += count.needless;
            total.probes += count.probes;
            total.resets += count.resets;
        }
        total
    }

    pub fn complaints(&self) -> Vec<String> {
        let of = |(id, auditor): (&FlowId, &Auditor)| {
            let port = id.1;
            auditor.complaints.iter().map(move |what| format!("port {port}: {what}")).collect()
        };
        let senders = self.auditors.iter().flat_map(|pair| -> Vec<_> { of(pair) });
        self.complaints.iter().cloned().chain(senders).chain(self.peer.complaints()).collect()
    }

    /// # Panics
    /// If there was a complaint, or if a connection did not receive exactly `bytes`.
    pub fn expect(&self, bytes: u64) {
        self.expect_no_complaint();
        assert_eq!(self.auditors.len(), self.peer.connections.len(), "connections");
        for (id, connection) in &self.peer.connections {
            assert!(connection.is_over(), "{id:?} is {:?}\n{}", connection.state, self.tell());
            assert_eq!(connection.bytes(), bytes, "bytes of {id:?}\n{}", self.tell());
        }
    }

    pub fn expect_no_complaint(&self) {
        let complaints = self.complaints();
        let first: Vec<_> = complaints.iter().take(5).collect();
        assert!(first.is_empty(), "{} complaints: {first:#?}\n{}", complaints.len(), self.tell());
    }

    /// The end of the first flow's log.
    pub fn tell(&self) -> String {
        let first = self.auditors.iter().min_by_key(|(id, _)| **id);
        let text = first.map_or(String::new(), |(id, auditor)| {
            format!("{id:?} {:?}\n{}", auditor.count, auditor.log.tail(40))
        });
        format!(
            "{text}first complaints: {:#?}",
            self.complaints().iter().take(3).collect::<Vec<_>>()
        )
    }
}

impl<S: Sender> Simulation<S> {
    fn poll(&mut self) {
        self.polls_at = Time::MAX;
        let frames = self.sender.send(self.now);
        frames.iter().for_each(|frame| self.leave(frame));
        let pause = match frames.len() {
            0 => ((self.now - self.sent_at) / 64).clamp(self.pause, 50 * MS),
            sent if sent == self.sender.batch() => US,
            _ => self.pause,
        };
        if !frames.is_empty() {
            self.sent_at = self.now;
        }
        self.is_done = self.sender.is_done();
        self.poll_at(self.now + pause);
    }

    fn poll_at(&mut self, at: Time) {
        if at < self.polls_at {
            self.polls_at = at;
            self.timetable.enter(at, Event::Poll);
        }
    }

    /// A frame leaves the sender.
    fn leave(&mut self, frame: &[u8]) {
        let segment = match Segment::parse(frame) {
            Ok(segment) => segment,
            Err(why) => return self.complaints.push(format!("sender: {why}: {frame:02x?}")),
        };
        let keeps_log = self.keeps_logs;
        let auditor = self.auditors.entry(FlowId::of(&segment));
        let auditor = auditor.or_insert_with(|| Auditor::new(keeps_log));
        auditor.sent(&segment, self.now);
        for at in self.there.pass(self.now, &segment, frame.len()) {
            self.timetable.enter(at, Event::AtPeer(segment.clone()));
        }
    }

    fn deliver(&mut self, segment: &Segment) {
        if let Some(auditor) = self.auditors.get_mut(&FlowId::of_answer(segment)) {
            auditor.told(segment, self.now);
        }
        self.hand_over(segment);
    }

    fn hand_over(&mut self, segment: &Segment) {
        if let Some(frame) = self.sender.receive(self.now, &segment.frame()) {
            self.leave(&frame);
        }
        self.poll_at(self.now);
    }

    fn tick(&mut self, id: FlowId) {
        let Some(connection) = self.peer.connections.get_mut(&id) else { return };
        if connection.due().is_some_and(|due| due <= self.now) {
            let answers = connection.tick(self.now);
            self.answer(id, answers);
        }
    }

    fn answer(&mut self, id: FlowId, answers: Vec<Segment>) {
        for segment in answers {
            let length = segment.frame().len();
            for at in self.back.pass(self.now, &segment, length) {
                self.timetable.enter(at, Event::AtSender(segment.clone()));
            }
        }
        let due = self.peer.connections.get(&id).and_then(|connection| connection.due());
        if let Some(due) = due {
            self.timetable.enter(due.max(self.now), Event::Tick(id));
        }
    }
}
