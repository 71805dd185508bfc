//! `Auditor`: checks every segment of the sender against the segments that it received.
//!
//! Rule: the auditor knows only frames: those that the sender sent, and those that reached it. It
//! complains only about violations that a receiver could prove.

use super::Time;
use super::log::{Event, Log};
use super::options::Options;
use super::ranges::Ranges;
use super::segment::{ACK, FIN, RST, SYN, Segment};

/// The state of one flow.
#[derive(Debug, Default)]
pub struct Auditor {
    /// Initial sequence numbers of the sender and the peer.
    iss: Option<u32>,
    irs: Option<u32>,
    agreed: Agreed,
    /// Positions, counted from the sender's SYN: acknowledged, sent, end of the window.
    pub una: u64,
    pub next: u64,
    pub edge: u64,
    fin: Option<u64>,
    sacked: Ranges,
    /// The position that the sender should acknowledge, counted from the peer's SYN.
    peer_next: u64,
    /// The sender's last timestamp, and the peer's newest.
    stamp: Option<u32>,
    echo: Option<u32>,
    /// The previous echo: a burst that began before the newest timestamp arrived still uses it.
    echo_before: Option<u32>,
    pub count: Count,
    pub log: Log,
    pub complaints: Vec<String>,
    /// Whether to keep a log.
    keeps_log: bool,
}

/// Counters of sent segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub segments: u64,
    /// Segments with data.
    pub data: u64,
    pub bytes: u64,
    /// Segments with data, SYN or FIN that had been sent before.
    pub again: u64,
    /// Segments whose data had already been acknowledged selectively.
    pub needless: u64,
    pub probes: u64,
    pub resets: u64,
}

/// The options that both SYNs offered.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    mss: u64,
    scale: u8,
    time: bool,
}

impl Auditor {
    pub fn new(keeps_log: bool) -> Self {
        Self { keeps_log, ..Self::default() }
    }

    pub fn sent(&mut self, segment: &Segment, now: Time) {
        self.count.segments += 1;
        self.check_stamps(segment);
        if segment.has(RST) {
            self.count.resets += 1;
            return;
        }
        let iss = *self.iss.get_or_insert(segment.seq);
        let start = self.position(segment.seq, iss);
        let end = start + u64::from(segment.length());
        match segment.has(SYN) {
            true => self.check_syn(segment, start),
            false => self.check_segment(segment, start, end),
        }
        let again = start < self.next && end > start;
        self.tally(segment, again);
        if self.keeps_log {
            let length = end - start;
            self.log.add(now, Event::Sent { start, length, flags: segment.flags, again });
        }
        self.next = self.next.max(end);
    }

    pub fn told(&mut self, segment: &Segment, now: Time) {
        let Some(iss) = self.iss else { return };
        let scale = if segment.has(SYN) { 0 } else { self.agreed.scale };
        // A retransmitted SYN has no new information, and its timestamp is old.
        let is_news = !segment.has(SYN) || self.irs.is_none();
        if segment.has(SYN) && !segment.has(RST) && is_news {
            self.agree(&segment.options);
            self.irs = Some(segment.seq);
        }
        if let Some((value, _)) = segment.options.time.filter(|_| is_news) {
            let is_newer = |echo: u32| value.wrapping_sub(echo) as i32 >= 0;
            if self.echo.is_none_or(is_newer) && self.echo != Some(value) {
                self.echo_before = self.echo.replace(value);
            }
        }
        if let Some(irs) = self.irs {
            let at = u64::from(segment.seq.wrapping_sub(irs)) + u64::from(segment.length());
            self.peer_next = self.peer_next.max(at);
        }
        let ack = self.position(segment.ack, iss);
        let window = u64::from(segment.window) << scale;
        let blocks = segment
            .options
            .sack
            .iter()
            .map(|(left, right)| (self.position(*left, iss), self.position(*right, iss)));
        let blocks: Vec<_> = blocks.collect();
        self.una = self.una.max(ack);
        self.edge = self.edge.max(ack + window);
        for (left, right) in blocks.iter().filter(|(left, right)| left < right && *left > ack) {
            self.sacked.add(*left, *right);
        }
        self.sacked.cut(self.una);
        if self.keeps_log {
            self.log.add(now, Event::Told { ack, window, blocks, flags: segment.flags });
        }
    }

    fn agree(&mut self, theirs: &Options) {
        let ours = self.agreed;
        self.agreed = Agreed {
            mss: u64::from(theirs.mss.unwrap_or(536)).min(ours.mss),
            scale: theirs.scale.unwrap_or(0),
            time: theirs.time.is_some(),
        };
    }

    fn check_syn(&mut self, segment: &Segment, start: u64) {
        let options = &segment.options;
        if start != 0 || segment.flags != SYN || !segment.payload.is_empty() {
            self.complain(format!("a malformed SYN at {start}: {segment:?}"));
        }
        if self.irs.is_some() {
            self.complain("SYN after the peer's SYN arrived".into());
        }
        match options.mss {
            Some(mss) => self.agreed.mss = u64::from(mss),
            None => self.complain("SYN without MSS".into()),
        }
        if !options.sack.is_empty() {
            self.complain("SYN with selective acknowledgements".into());
        }
    }

    fn check_segment(&mut self, segment: &Segment, start: u64, end: u64) {
        if self.irs.is_none() {
            return self.complain(format!("{start}..{end} before the handshake"));
        }
        self.check_header(segment);
        self.check_place(segment, start, end);
        if segment.has(FIN) && self.fin.replace(end - 1).is_some_and(|fin| fin != end - 1) {
            self.complain(format!("FIN at {} and elsewhere", end - 1));
        }
        if self.fin.is_some_and(|fin| end > fin + 1) {
            self.complain(format!("{start}..{end} is after the FIN"));
        }
    }

    /// Checks what does not depend on the segment's position.
    fn check_header(&mut self, segment: &Segment) {
        let irs = self.irs.unwrap_or(0);
        let acked = u64::from(segment.ack.wrapping_sub(irs));
        if !segment.has(ACK) || acked != self.peer_next {
            self.complain(format!("acknowledges {acked}, not {}", self.peer_next));
        }
        let options = &segment.options;
        if options.mss.is_some() || options.scale.is_some() || options.sack_permitted {
            self.complain(format!("{options:?} belong to a SYN"));
        }
        if !options.sack.is_empty() {
            self.complain("selective acknowledgements of nothing".into());
        }
        if options.time.is_some() != self.agreed.time {
            self.complain(format!("timestamps: {:?}, agreed: {}", options.time, self.agreed.time));
        }
        let most = self.agreed.mss - if self.agreed.time { 12 } else { 0 };
        if segment.payload.len() as u64 > most {
            self.complain(format!("{} bytes of at most {most}", segment.payload.len()));
        }
    }

    fn check_place(&mut self, segment: &Segment, start: u64, end: u64) {
        // Either a byte beyond a closed window, or a keepalive: no byte from before it while all
        // data is acknowledged.
        let asks = start + 1 == self.una && start == end && self.next == self.una;
        let is_probe = start + 1 >= self.una && end <= self.una + 1 && self.edge <= self.una;
        if asks || is_probe && !(start == end && start == self.next) {
            self.count.probes += 1;
            return;
        }
        if start > self.next {
            self.complain(format!("{start}..{end} leaves a gap after {}", self.next));
        }
        if end > self.edge && !(segment.has(FIN) && end == self.edge + 1) {
            self.complain(format!("{start}..{end} exceeds the window's {}", self.edge));
        }
        let again = start < self.next;
        if again && end > start && end <= self.una {
            self.complain(format!("{start}..{end} again, acknowledged up to {}", self.una));
        }
        if again && start == end && start < self.una {
            self.complain(format!("an old acknowledgement at {start} of {}", self.next));
        }
        if again && end > start && self.sacked.holds(start, end) {
            self.count.needless += 1;
        }
    }

    fn check_stamps(&mut self, segment: &Segment) {
        let Some((value, echo)) = segment.options.time else { return };
        if self.stamp.is_some_and(|stamp| (value.wrapping_sub(stamp) as i32) < 0) {
            self.complain(format!("timestamp {value} after {:?}", self.stamp));
        }
        self.stamp = Some(value);
        if segment.has(ACK) && ![self.echo, self.echo_before].contains(&Some(echo)) {
            self.complain(format!("echoes {echo}, not {:?}", self.echo));
        }
    }

    fn tally(&mut self, segment: &Segment, again: bool) {
        self.count.data += u64::from(!segment.payload.is_empty());
        self.count.bytes += segment.payload.len() as u64;
        self.count.again += u64::from(again);
    }

    /// The position nearest to the last one that was sent.
    fn position(&self, seq: u32, iss: u32) -> u64 {
        let apart = seq.wrapping_sub(iss.wrapping_add(self.next as u32)) as i32;
        self.next.saturating_add_signed(i64::from(apart))
    }

    fn complain(&mut self, what: String) {
        self.complaints.push(format!("sender: {what}"));
    }
}
