//! `Probe`: one check of a backend, from its first packet to its outcome.

use std::time::Duration;

use packet::IpProtocol;

use super::config::{Check, Health, Udp};
use super::reason::{Outcome, Reason};
use super::stream::Stream;
use super::wire::{self, Ends, Kind, Received};

/// What follows from an event: packets to send to the backend, and the outcome if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub send: Vec<Vec<u8>>,
    pub outcome: Option<Outcome>,
}

/// A check that is under way.
#[derive(Clone, Debug)]
pub struct Probe {
    ends: Ends,
    /// Own port or identifier, and port of the service.
    own: u16,
    port: u16,
    exchange: Exchange,
    deadline: Duration,
    resend_at: Duration,
    pause: Duration,
}

#[derive(Clone, Debug)]
enum Exchange {
    Stream(Stream),
    /// What failed so far: nothing in an answer proves that it is the service's, so a right one is
    /// awaited until the deadline.
    Datagram(Udp, Option<Reason>),
    /// Sequence number and payload of the request.
    Echo(u16, [u8; 8]),
}

impl Probe {
    /// A check that has not sent a packet yet. `own` is a port or identifier that no other check
    /// has, `token` a number that no peer can guess.
    #[must_use]
    pub fn new(
        health: &Health,
        ends: Ends,
        (own, port): (u16, u16),
        token: u64,
        now: Duration,
    ) -> Self {
        let exchange = match &health.check {
            Check::Tcp => Exchange::Stream(Stream::new(token as u32, None)),
            Check::Http(http) => {
                Exchange::Stream(Stream::new(token as u32, Some((http, ends.service, port))))
            }
            Check::Udp(udp) => Exchange::Datagram(udp.clone(), None),
            Check::Icmp => Exchange::Echo(token as u16, token.to_be_bytes()),
        };
        let deadline = now + health.timeout.0;
        Self { ends, own, port, exchange, deadline, resend_at: now, pause: FIRST_PAUSE }
    }

    /// The protocol and number by which its packets are known.
    #[must_use]
    pub fn key(&self) -> (IpProtocol, u16) {
        let protocol = match self.exchange {
            Exchange::Stream(_) => IpProtocol::TCP,
            Exchange::Datagram(..) => IpProtocol::UDP,
            Exchange::Echo(..) => IpProtocol::ICMP,
        };
        (protocol, self.own)
    }

    /// When [`tick`](Self::tick) is due.
    #[must_use]
    pub fn due(&self) -> Duration {
        self.resend_at.min(self.deadline)
    }

    /// When it fails.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Time has passed.
    #[must_use]
    pub fn tick(&mut self, now: Duration) -> Step {
        if now >= self.deadline {
            let reason = match &self.exchange {
                Exchange::Stream(stream) if stream.is_open() => Reason::Incomplete,
                Exchange::Datagram(_, Some(reason)) => *reason,
                _ => Reason::Timeout,
            };
            return Step { send: self.goodbye(), outcome: Some(Err(reason)) };
        }
        if now < self.resend_at {
            return Step::default();
        }
        self.resend_at = now + self.pause;
        self.pause *= 2;
        Step { send: vec![self.current()], outcome: None }
    }

    /// A packet arrived that has this check's key.
    #[must_use]
    pub fn receive(&mut self, received: &Received<'_>) -> Step {
        if let Kind::Unreachable { from, to, transport, .. } = received.kind {
            let is_own = from == self.ends.own && to == self.ends.service;
            if !is_own || !self.is_quoted(transport) {
                return Step::default();
            }
            if let Exchange::Datagram(_, failed) = &mut self.exchange {
                *failed = Some(Reason::Unreachable);
                return Step::default();
            }
            return Step { send: Vec::new(), outcome: Some(Err(Reason::Unreachable)) };
        }
        if (received.from, received.to) != (self.ends.service, self.ends.own) {
            return Step::default();
        }
        match (&mut self.exchange, received.kind) {
            (Exchange::Stream(stream), Kind::Tcp(segment)) if segment.source == self.port => {
                let (segments, outcome) = stream.receive(&segment);
                let (ends, ports) = (self.ends, (self.own, self.port));
                let send = segments.iter().map(|one| one.packet(ends, ports)).collect();
                Step { send, outcome }
            }
            (Exchange::Datagram(udp, failed), Kind::Udp { source, payload, .. })
                if source == self.port =>
            {
                let is_expected = payload.starts_with(&udp.expect.0);
                *failed = (!is_expected).then_some(Reason::Unexpected);
                Step { send: Vec::new(), outcome: is_expected.then_some(Ok(())) }
            }
            (Exchange::Echo(number, sent), Kind::Reply { sequence, payload, .. }) => {
                let is_own = sequence == *number && payload == sent;
                Step { send: Vec::new(), outcome: is_own.then_some(Ok(())) }
            }
            _ => Step::default(),
        }
    }

    /// The packet that is sent now, and again while nothing answers it.
    fn current(&self) -> Vec<u8> {
        match &self.exchange {
            Exchange::Stream(stream) => stream.current().packet(self.ends, (self.own, self.port)),
            Exchange::Datagram(udp, _) => {
                wire::datagram(self.ends, self.own, self.port, &udp.send.0)
            }
            Exchange::Echo(sequence, payload) => {
                wire::echo(self.ends, self.own, *sequence, payload)
            }
        }
    }

    /// What ends a connection that is open.
    fn goodbye(&self) -> Vec<Vec<u8>> {
        match &self.exchange {
            Exchange::Stream(stream) => {
                vec![stream.reset().packet(self.ends, (self.own, self.port))]
            }
            _ => Vec::new(),
        }
    }

    /// Whether the first bytes of a transport are those of a packet of this check.
    fn is_quoted(&self, transport: &[u8]) -> bool {
        let Some(start) = transport.first_chunk::<8>() else { return false };
        let [a, b, c, d, e, f, g, h] = *start;
        let ports = [self.own.to_be_bytes(), self.port.to_be_bytes()];
        match &self.exchange {
            Exchange::Stream(stream) => {
                [[a, b], [c, d]] == ports && stream.sent(u32::from_be_bytes([e, f, g, h]))
            }
            Exchange::Datagram(..) => [[a, b], [c, d]] == ports,
            Exchange::Echo(sequence, _) => {
                [[e, f], [g, h]] == [self.own.to_be_bytes(), sequence.to_be_bytes()]
            }
        }
    }
}

/// Time before a packet is sent again, which doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
