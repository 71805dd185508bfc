//! `Stream`: the client's side of a TCP connection that is made for one question.
//!
//! Rule: what arrives out of order is ignored and comes again; the answer is read up to its first
//! line, whose length is limited, so that no peer makes it grow. The connection ends with a reset.

use std::net::IpAddr;

use super::config::{Http, Statuses};
use super::reason::{Outcome, Reason};
use super::wire::{ACK, Ends, FIN, PSH, RST, SYN, Segment};

/// A connection.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Initial sequence number.
    first: u32,
    /// The next number that the peer sends; `None` until it answered.
    next: Option<u32>,
    /// Bytes of the request that the peer acknowledged.
    taken: usize,
    request: Vec<u8>,
    /// `None`: the answer to the SYN is the outcome.
    expected: Option<Statuses>,
    /// The beginning of the response.
    response: Vec<u8>,
    /// Segments of an older connection that were answered.
    strays: u8,
}

/// A segment without its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    payload: Vec<u8>,
}

impl Outgoing {
    /// The whole packet, from one port to another.
    pub fn packet(&self, ends: Ends, (source, dest): (u16, u16)) -> Vec<u8> {
        let Self { sequence, acknowledged, flags, ref payload } = *self;
        Segment { source, dest, sequence, acknowledged, flags, payload }.packet(ends)
    }
}

impl Stream {
    /// Not sent yet. With a request for a host and port, the status of the response decides.
    pub fn new(first: u32, request: Option<(&Http, IpAddr, u16)>) -> Self {
        let expected = request.map(|(http, _, _)| http.status);
        let request = request.map(request_of).unwrap_or_default();
        let (next, taken, response, strays) = (None, 0, Vec::new(), 0);
        Self { first, next, taken, request, expected, response, strays }
    }

    /// Whether the peer accepted the connection.
    pub fn is_open(&self) -> bool {
        self.next.is_some()
    }

    /// Whether a segment with this sequence number may have been sent.
    pub fn sent(&self, sequence: u32) -> bool {
        sequence.wrapping_sub(self.first) as usize <= self.request.len() + 1
    }

    /// The segment that waits for an answer.
    pub fn current(&self) -> Outgoing {
        let Some(acknowledged) = self.next else {
            return Outgoing {
                sequence: self.first,
                acknowledged: 0,
                flags: SYN,
                payload: Vec::new(),
            };
        };
        let payload = self.request[self.taken..].to_vec();
        let flags = if payload.is_empty() { ACK } else { ACK | PSH };
        Outgoing { sequence: self.after(self.taken), acknowledged, flags, payload }
    }

    /// Ends the connection. Before the peer answered, its number is one that a later answer fits.
    pub fn reset(&self) -> Outgoing {
        let (flags, acknowledged) = match self.next {
            Some(next) => (RST | ACK, next),
            None => (RST, 0),
        };
        let sequence = self.after(if self.next.is_some() { self.request.len() } else { 0 });
        Outgoing { sequence, acknowledged, flags, payload: Vec::new() }
    }

    /// A segment came from the peer.
    pub fn receive(&mut self, segment: &Segment<'_>) -> (Vec<Outgoing>, Option<Outcome>) {
        match self.next {
            None => self.answered(segment),
            Some(next) => self.continued(segment, next),
        }
    }

    /// The answer to the SYN.
    fn answered(&mut self, segment: &Segment<'_>) -> (Vec<Outgoing>, Option<Outcome>) {
        let acknowledged = segment.acknowledged;
        let is_own = segment.flags & ACK != 0 && acknowledged == self.after(0);
        match segment.flags & (SYN | ACK | RST) {
            flags if flags & RST != 0 => (Vec::new(), is_own.then_some(Err(Reason::Refused))),
            flags if flags == SYN | ACK && is_own => {
                self.next = Some(segment.sequence.wrapping_add(1));
                match self.expected {
                    None => (vec![self.reset()], Some(Ok(()))),
                    Some(_) => (vec![self.current()], None),
                }
            }
            // The peer still has an older connection of these ports: it ends, then this begins.
            ACK if !is_own && self.strays < MOST_STRAYS => {
                self.strays += 1;
                let (sequence, acknowledged, flags) = (acknowledged, 0, RST);
                let reset = Outgoing { sequence, acknowledged, flags, payload: Vec::new() };
                (vec![reset, self.current()], None)
            }
            _ => (Vec::new(), None),
        }
    }

    /// A segment of the open connection, of which `next` is expected.
    fn continued(&mut self, segment: &Segment<'_>, next: u32) -> (Vec<Outgoing>, Option<Outcome>) {
        let (flags, payload) = (segment.flags, segment.payload);
        if flags & RST != 0 {
            let is_own = segment.sequence == next;
            return (Vec::new(), is_own.then_some(Err(Reason::Reset)));
        }
        if flags & SYN != 0 || flags & ACK == 0 {
            // The acknowledgement was lost, if it is the same SYN; the timer repeats it.
            return (Vec::new(), None);
        }
        let taken = segment.acknowledged.wrapping_sub(self.after(0)) as usize;
        if taken > self.request.len() {
            return (Vec::new(), None);
        }
        self.taken = self.taken.max(taken);
        if segment.sequence != next {
            // Not the next one: what is missing is sent again after an acknowledgement.
            let is_data = !payload.is_empty();
            return (if is_data { vec![self.current()] } else { Vec::new() }, None);
        }
        if payload.is_empty() && flags & FIN == 0 {
            return (Vec::new(), None);
        }
        self.next = Some(next.wrapping_add(payload.len() as u32));
        let space = LONGEST_LINE - self.response.len();
        self.response.extend_from_slice(&payload[..payload.len().min(space)]);
        let verdict = match (self.status(), flags & FIN != 0) {
            (None, true) => Some(Err(Reason::Closed)),
            (verdict, _) => verdict,
        };
        let answer = if verdict.is_some() { self.reset() } else { self.current() };
        (vec![answer], verdict)
    }

    /// What the first line of the response means; `None` while it is incomplete.
    fn status(&self) -> Option<Outcome> {
        let expected = self.expected?;
        let begin = self.response.get(..VERSION.len()).unwrap_or(&self.response);
        if !VERSION.starts_with(begin) {
            return Some(Err(Reason::NotHttp));
        }
        let end = self.response.iter().position(|byte| *byte == b'\n');
        let is_full = self.response.len() == LONGEST_LINE;
        let Some(end) = end else { return is_full.then_some(Err(Reason::NotHttp)) };
        let line = self.response[..end].trim_ascii_end();
        Some(match status_of(line) {
            Some(status) if (expected.0..=expected.1).contains(&status) => Ok(()),
            Some(status) => Err(Reason::Status(status)),
            None => Err(Reason::NotHttp),
        })
    }

    /// The sequence number after this number of bytes.
    fn after(&self, bytes: usize) -> u32 {
        self.first.wrapping_add(1).wrapping_add(bytes as u32)
    }
}

/// The status of a line such as `HTTP/1.1 200 OK`.
fn status_of(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(VERSION)?;
    let (version, rest) = rest.split_first()?;
    let rest = rest.strip_prefix(b" ")?;
    let digits = rest.first_chunk::<3>()?;
    let is_end = matches!(rest.get(3), None | Some(b' '));
    if !matches!(version, b'0' | b'1') || !digits.iter().all(u8::is_ascii_digit) || !is_end {
        return None;
    }
    let digit = |at: usize| u16::from(digits[at] - b'0');
    Some(100 * digit(0) + 10 * digit(1) + digit(2))
}

fn request_of((http, service, port): (&Http, IpAddr, u16)) -> Vec<u8> {
    let address = match service {
        IpAddr::V6(service) => format!("[{service}]"),
        IpAddr::V4(service) => service.to_string(),
    };
    let host = match (&*http.host, port) {
        ("", 80) => address,
        ("", port) => format!("{address}:{port}"),
        (host, _) => host.to_owned(),
    };
    let path = &http.path;
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: xway\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

const VERSION: &[u8] = b"HTTP/1.";
/// Bytes of the first line of a response.
const LONGEST_LINE: usize = 1024;
/// Segments of older connections that are answered in a check.
const MOST_STRAYS: u8 = 3;
