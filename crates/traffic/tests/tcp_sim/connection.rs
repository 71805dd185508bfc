//! `Connection`: the receiving end of one connection, by RFC 9293, 2018, 2883, 7323 and 5681.
//!
//! Positions count from the sender's SYN, which is 0; the first byte is 1. Rule: a mistake of the
//! sender is a complaint, and the connection continues as a robust receiver would.

use super::Time;
use super::options::Options;
use super::ranges::Ranges;
use super::segment::{ACK, Endpoint, FIN, RST, SYN, Segment};
use super::{MS, SECOND};

/// The behavior of a peer that receives.
#[derive(Clone, Debug)]
pub struct Manner {
    pub mss: u16,
    /// Whether it offers and accepts window scaling, selective acknowledgements and timestamps.
    pub scale: Option<u8>,
    pub sack: bool,
    pub time: bool,
    /// Reports duplicate segments (RFC 2883).
    pub tells_twice: bool,
    /// Size of the receive buffer in bytes.
    pub buffer: u64,
    pub reader: Reader,
    /// How long an acknowledgement is delayed for a second segment; not delayed when `None`.
    pub ack_delay: Option<Time>,
    /// Its initial sequence number.
    pub first: u32,
    /// What it does instead of receiving.
    pub refusal: Refusal,
}

/// How data is read from the buffer.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    Prompt,
    /// Bytes per second.
    Rate(u64),
    /// Stops at this position, and continues without delay at that time.
    Pause(u64, Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    None,
    /// Answers SYN with RST.
    AtOnce,
    /// Sends RST when it has received this number of bytes.
    After(u64),
    /// Does not answer from this time on.
    Silence(Time),
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            mss: 1460,
            scale: Some(7),
            sack: true,
            time: true,
            tells_twice: true,
            buffer: 4 << 20,
            reader: Reader::Prompt,
            ack_delay: Some(40 * MS),
            first: 0x9000_0000,
            refusal: Refusal::None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    SynReceived,
    Established,
    /// The sender has finished; our FIN is in flight.
    LastAck,
    Closed,
    Reset,
}

#[derive(Debug)]
pub struct Connection {
    manner: Manner,
    /// This end, and the sender's.
    ends: (Endpoint, Endpoint),
    pub state: State,
    pub irs: u32,
    /// The options that both ends agreed on.
    has: Agreed,
    /// The first position that was not received.
    pub next: u64,
    ahead: Ranges,
    /// First positions of the ranges that were received out of order, the latest first.
    news: Vec<u64>,
    /// A duplicate range, which is reported once.
    twice: Option<(u64, u64)>,
    /// Position that the reader had reached at `read_at`.
    read: u64,
    read_at: Time,
    /// The right edge of the window that was advertised to the sender.
    edge: u64,
    fin: Option<u64>,
    echo: u32,
    /// Segments since the last acknowledgement.
    owed: u32,
    ack_at: Option<Time>,
    again_at: Option<Time>,
    again_after: Time,
    /// Bytes that arrived more than once.
    pub repeated: u64,
    pub segments: u64,
    pub complaints: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct Agreed {
    /// Shift count of the advertised window.
    scale: u8,
    is_scaled: bool,
    sack: bool,
    time: bool,
}

impl Connection {
    /// Accepts a SYN; [`Connection::take`] returns the answer.
    pub fn accept(manner: &Manner, syn: &Segment, now: Time) -> Self {
        let offer = &syn.options;
        let is_scaled = manner.scale.is_some() && offer.scale.is_some();
        let has = Agreed {
            is_scaled,
            scale: manner.scale.filter(|_| is_scaled).unwrap_or(0),
            sack: manner.sack && offer.sack_permitted,
            time: manner.time && offer.time.is_some(),
        };
        Self {
            manner: manner.clone(),
            ends: (syn.to, syn.from),
            state: State::SynReceived,
            irs: syn.seq,
            has,
            next: 1,
            ahead: Ranges::default(),
            news: Vec::new(),
            twice: None,
            read: 1,
            read_at: now,
            edge: 0,
            fin: None,
            echo: offer.time.map_or(0, |time| time.0),
            owed: 0,
            ack_at: None,
            again_at: None,
            again_after: SECOND,
            repeated: 0,
            segments: 0,
            complaints: Vec::new(),
        }
    }

    /// Bytes of the stream that were received in order.
    pub fn bytes(&self) -> u64 {
        self.next - 1 - u64::from(self.fin.is_some_and(|fin| self.next > fin))
    }

    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::Reset)
    }

    /// Processes a segment of the sender; returns the answers in order.
    pub fn take(&mut self, segment: &Segment, now: Time) -> Vec<Segment> {
        self.segments += 1;
        if segment.has(RST) {
            self.state = State::Reset;
            return Vec::new();
        }
        if segment.has(SYN) {
            return self.take_syn(segment, now);
        }
        if !segment.has(ACK) {
            self.complain("a segment without ACK".into());
            return Vec::new();
        }
        self.take_ack(segment);
        if self.is_over() {
            return Vec::new();
        }
        if let Some((value, _)) = segment.options.time.filter(|_| self.has.time)
            && self.is_outdated(segment, value)
        {
            return vec![self.answer(now)];
        }
        self.take_data(segment, now)
    }

    /// The acknowledgement that it would send now, for forged segments.
    pub fn tell(&mut self, now: Time) -> Segment {
        self.answer(now)
    }

    /// The time of the next action of [`Connection::tick`].
    pub fn due(&self) -> Option<Time> {
        let reads = self.reads_at();
        [self.ack_at, self.again_at, reads].into_iter().flatten().min()
    }

    /// Acts on timers.
    pub fn tick(&mut self, now: Time) -> Vec<Segment> {
        let mut out = Vec::new();
        let had_closed = self.state == State::LastAck;
        self.read_on(now);
        if self.ack_at.is_some_and(|at| at <= now) || self.opens_much() {
            out.push(self.answer(now));
        }
        out.extend(self.close_if_read(now, had_closed));
        if self.again_at.is_some_and(|at| at <= now) {
            out.push(if self.state == State::SynReceived {
                self.syn_ack(now)
            } else {
                self.fin_ack(now)
            });
            self.again_after *= 2;
            self.again_at = Some(now + self.again_after);
        }
        out
    }

    fn take_syn(&mut self, segment: &Segment, now: Time) -> Vec<Segment> {
        if segment.seq != self.irs {
            self.complain(format!("SYN again with {} for {}", segment.seq, self.irs));
        }
        if self.state != State::SynReceived {
            return vec![self.answer(now)];
        }
        self.again_at = Some(now + self.again_after);
        vec![self.syn_ack(now)]
    }

    fn take_ack(&mut self, segment: &Segment) {
        let acked = segment.ack.wrapping_sub(self.manner.first);
        let (low, high) = match self.state {
            State::SynReceived | State::Established => (1, 1),
            _ => (1, 2),
        };
        if !(low..=high).contains(&acked) {
            self.complain(format!("acknowledges {acked} of the peer, which sent {high}"));
            return;
        }
        match self.state {
            State::SynReceived => (self.state, self.again_at) = (State::Established, None),
            State::LastAck if acked == 2 => (self.state, self.again_at) = (State::Closed, None),
            _ => {}
        }
        self.again_after = SECOND;
    }

    /// Keeps the timestamp to echo. Returns whether the segment is too old to be accepted (RFC
    /// 7323, 5.3).
    fn is_outdated(&mut self, segment: &Segment, value: u32) -> bool {
        if (value.wrapping_sub(self.echo) as i32) < 0 {
            return true;
        }
        if self.position(segment.seq) <= self.next {
            self.echo = value;
        }
        false
    }

    fn take_data(&mut self, segment: &Segment, now: Time) -> Vec<Segment> {
        let start = self.position(segment.seq);
        let end = start + segment.payload.len() as u64 + u64::from(segment.has(FIN));
        if start == end {
            // A keepalive or a probe requires an answer; a plain acknowledgement does not.
            return if start + 1 == self.next { vec![self.answer(now)] } else { Vec::new() };
        }
        self.read_on(now);
        if end > self.edge {
            let is_probe = self.edge == self.next && end - start == 1;
            if !is_probe {
                self.complain(format!("{start}..{end} exceeds the window's {}", self.edge));
            }
            return vec![self.answer(now)];
        }
        if segment.has(FIN) && self.fin.replace(end - 1).is_some_and(|fin| fin != end - 1) {
            self.complain(format!("a second FIN elsewhere: {}", end - 1));
        }
        if self.fin.is_some_and(|fin| end > fin + 1) {
            self.complain(format!("{start}..{end} is after the FIN"));
        }
        let is_prompt = self.store(start, end);
        self.answer_data(is_prompt, now)
    }

    /// Stores a range; returns whether it must be acknowledged immediately.
    fn store(&mut self, start: u64, end: u64) -> bool {
        if end <= self.next || self.ahead.holds(start, end) {
            self.repeated += end - start;
            self.twice = Some((start, end));
            return true;
        }
        if start > self.next {
            let (first, last) = self.ahead.add(start, end);
            self.news.retain(|begin| !(first..last).contains(begin));
            self.news.insert(0, first);
            return true;
        }
        self.repeated += self.next - start;
        let filled = !self.ahead.is_empty();
        self.next = end;
        while let Some(end) = self.ahead.take_from(self.next) {
            self.next = self.next.max(end);
        }
        self.ahead.cut(self.next);
        let next = self.next;
        self.news.retain(|begin| *begin > next);
        filled || self.fin.is_some_and(|fin| self.next > fin)
    }

    fn answer_data(&mut self, is_prompt: bool, now: Time) -> Vec<Segment> {
        let before = self.state;
        self.read_on(now);
        if let Refusal::After(bytes) = self.manner.refusal
            && self.bytes() >= bytes
        {
            self.state = State::Reset;
            return vec![Segment { flags: RST | ACK, ..self.answer(now) }];
        }
        self.owed += 1;
        let mut out = Vec::new();
        match self.manner.ack_delay {
            Some(delay) if !is_prompt && self.owed < 2 => self.ack_at = Some(now + delay),
            _ => out.push(self.answer(now)),
        }
        out.extend(self.close_if_read(now, before == State::LastAck));
        out
    }

    fn close_if_read(&mut self, now: Time, had_closed: bool) -> Option<Segment> {
        let fin = self.fin.filter(|fin| self.next > *fin)?;
        let is_due = !had_closed && self.state == State::Established && self.read >= fin;
        is_due.then(|| {
            self.state = State::LastAck;
            self.again_at = Some(now + self.again_after);
            self.fin_ack(now)
        })
    }
}

/// The reader and the window.
impl Connection {
    fn read_on(&mut self, now: Time) {
        let passed = u128::from(now - self.read_at);
        self.read = match self.manner.reader {
            Reader::Prompt => self.next,
            Reader::Pause(at, until) if now < until => self.next.min(at),
            Reader::Pause(..) => self.next,
            Reader::Rate(rate) => {
                let bytes = (passed * u128::from(rate) / u128::from(SECOND)) as u64;
                // The time for less than a byte is kept.
                if bytes == 0 && self.read < self.next {
                    return;
                }
                self.next.min(self.read + bytes)
            }
        };
        self.read_at = now;
    }

    fn reads_at(&self) -> Option<Time> {
        if self.read == self.next || self.is_over() {
            return None;
        }
        match self.manner.reader {
            Reader::Prompt => None,
            Reader::Rate(_) => Some(self.read_at + MS),
            Reader::Pause(_, until) => Some(until),
        }
    }

    fn space(&self) -> u64 {
        self.manner.buffer - (self.next - self.read).min(self.manner.buffer)
    }

    /// Whether the window grew enough for an update to be sent (RFC 9293, 3.8.6.2.2).
    fn opens_much(&self) -> bool {
        let told = self.edge.saturating_sub(self.next);
        let enough = (self.manner.buffer / 2).min(2 * u64::from(self.manner.mss));
        self.state == State::Established
            && told < enough
            && self.space() >= told + enough.max(1 << self.has.scale)
    }
}

/// Answers.
impl Connection {
    /// An acknowledgement of everything that was received.
    fn answer(&mut self, now: Time) -> Segment {
        (self.owed, self.ack_at) = (0, None);
        let is_silly = self.space() < (self.manner.buffer / 2).min(u64::from(self.manner.mss));
        let space = if is_silly { 0 } else { self.space() };
        let edge = self.edge.max(self.next + space);
        let window = ((edge - self.next) >> self.has.scale).min(0xffff) as u16;
        self.edge = self.edge.max(self.next + (u64::from(window) << self.has.scale));
        let closed = matches!(self.state, State::LastAck | State::Closed);
        let mut options = self.options(now);
        options.sack = self.blocks(if self.has.time { 3 } else { 4 });
        let seq = self.manner.first.wrapping_add(1 + u32::from(closed));
        self.segment(seq, ACK, window, options)
    }

    fn syn_ack(&mut self, now: Time) -> Segment {
        let window = self.manner.buffer.min(0xffff) as u16;
        self.edge = self.edge.max(self.next + u64::from(window));
        let options = Options {
            mss: Some(self.manner.mss),
            scale: self.manner.scale.filter(|_| self.has.is_scaled),
            sack_permitted: self.has.sack,
            ..self.options(now)
        };
        self.segment(self.manner.first, SYN | ACK, window, options)
    }

    fn fin_ack(&mut self, now: Time) -> Segment {
        let answer = self.answer(now);
        Segment { seq: self.manner.first.wrapping_add(1), flags: FIN | ACK, ..answer }
    }

    fn options(&self, now: Time) -> Options {
        let time = self.has.time.then_some(((now / MS) as u32 ^ 0x8000_0000, self.echo));
        Options { time, ..Options::default() }
    }

    /// The duplicate range, then the latest ranges (RFC 2018, 4).
    fn blocks(&mut self, most: usize) -> Vec<(u32, u32)> {
        if !self.has.sack {
            return Vec::new();
        }
        let twice = self.twice.take().filter(|_| self.manner.tells_twice);
        let news = self.news.iter().filter_map(|begin| self.ahead.holding(*begin));
        let blocks = twice.into_iter().chain(news).take(most);
        blocks.map(|(start, end)| (self.sequence(start), self.sequence(end))).collect()
    }

    fn segment(&self, seq: u32, flags: u8, window: u16, options: Options) -> Segment {
        let (from, to) = self.ends;
        let ack = self.sequence(self.next);
        Segment { from, to, seq, ack, flags, window, options, payload: Vec::new() }
    }

    fn sequence(&self, position: u64) -> u32 {
        self.irs.wrapping_add(position as u32)
    }

    /// The position nearest to the expected one.
    fn position(&self, seq: u32) -> u64 {
        let apart = seq.wrapping_sub(self.sequence(self.next)) as i32;
        self.next.saturating_add_signed(i64::from(apart))
    }

    fn complain(&mut self, what: String) {
        self.complaints.push(format!("peer: {what}"));
    }
}
