//! What to send, checked once.

use std::time::Duration;

use sys::net::Ifindex;

use crate::error::{Error, Result};
use crate::frame::Layout;
use crate::frame::{folded, transport_sum};
use crate::limits::{FLOOD_BATCH, FLOOD_BATCHES, FLOOD_DURATION, FLOOD_FRAME, FLOOD_RATE};

/// What to send, how fast and how long. [`FloodConfig::new`] gives the rest of the fields a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodConfig {
    pub frame: Vec<u8>,
    /// As fast as the processor can when `None`.
    pub rate_pps: Option<u64>,
    /// At most ten minutes.
    pub duration: Duration,
    /// Ends after so many frames.
    pub limit: Option<u64>,
    /// Where to send from, before other processes there; anywhere when `None`.
    pub cpu: Option<usize>,
    pub sequence: Option<Sequence>,
    /// Frames that leave together, 1 to 256, and fewer at low rates: each batch wakes its
    /// receiver, which costs both sides more than a packet does. A paced sender that was held up
    /// catches up with one batch.
    pub batch: u32,
}

/// A number in each frame, one more than in the one before: eight bytes, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Offset in the frame.
    pub at: usize,
    pub first: u64,
}

/// A configuration that can be carried out.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub config: FloodConfig,
    pub out: Ifindex,
    pub checksum: Option<Checksum>,
}

/// A transport checksum that has to follow the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checksum {
    pub at: usize,
    /// Sum of everything it covers but the number and itself.
    pub base: u16,
    /// Zero means "none" in UDP, so a computed zero is sent as all ones.
    pub never_zero: bool,
}

impl FloodConfig {
    /// Unpaced for one second, with a sequence number in front of the payload when it fits.
    pub fn new(frame: Vec<u8>) -> Self {
        let payload = Layout::of(&frame).and_then(|layout| {
            let at = layout.payload(&frame)?;
            (at + Sequence::LEN <= layout.end).then_some(at)
        });
        Self {
            sequence: payload.map(|at| Sequence { at, first: 0 }),
            frame,
            rate_pps: None,
            duration: Duration::from_secs(1),
            limit: None,
            cpu: None,
            batch: FLOOD_BATCH,
        }
    }
}

impl Sequence {
    pub const LEN: usize = 8;

    /// The number in a frame that arrived.
    pub fn read(&self, frame: &[u8]) -> Option<u64> {
        let bytes = frame.get(self.at..self.at + Self::LEN)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }
}

impl Plan {
    pub fn new(mut config: FloodConfig, out: Ifindex) -> Result<Self> {
        let refuse = |why: &str| Err(Error::Flood(why.to_owned()));
        if !(14..=FLOOD_FRAME).contains(&config.frame.len()) {
            return refuse("a frame has 14 to 4096 bytes");
        }
        if config.rate_pps.is_some_and(|rate| !FLOOD_RATE.contains(&rate)) {
            return refuse("a rate is 1 to 100 million packets a second");
        }
        if config.duration > FLOOD_DURATION {
            return refuse("a flood lasts ten minutes at most");
        }
        if !(1..=256).contains(&config.batch) {
            return refuse("a batch is 1 to 256 frames");
        }
        if let Some(rate) = config.rate_pps {
            let even = (rate / FLOOD_BATCHES).clamp(1, u64::from(config.batch));
            config.batch = even as u32;
        }
        let checksum = match config.sequence {
            Some(sequence) => Self::make_room(&mut config.frame, sequence)?,
            None => None,
        };
        Ok(Self { config, out, checksum })
    }

    /// Clears the number's place, and finds the checksum that covers it.
    fn make_room(frame: &mut [u8], sequence: Sequence) -> Result<Option<Checksum>> {
        let end = sequence.at.saturating_add(Sequence::LEN);
        if sequence.at < 14 || end > frame.len() {
            return Err(Error::Flood("the sequence number lies outside the payload".into()));
        }
        let found = Layout::of(frame).and_then(|layout| Some((layout, layout.checksum()?)));
        let covered =
            found.filter(|(layout, at)| layout.covers(sequence.at) && at + 2 <= layout.end);
        let Some((layout, at)) = covered else {
            frame[sequence.at..end].fill(0);
            return Ok(None);
        };
        if sequence.at < at + 2
            || end > layout.end
            || !(sequence.at - layout.transport).is_multiple_of(2)
        {
            return Err(Error::Flood("the sequence number must lie in the payload, evenly".into()));
        }
        let udp = layout.protocol == crate::frame::UDP;
        frame[sequence.at..end].fill(0);
        if udp && frame[at..at + 2] == [0, 0] {
            return Ok(None);
        }
        frame[at..at + 2].fill(0);
        let base = folded(transport_sum(frame, &layout));
        Ok(Some(Checksum { at, base, never_zero: udp }))
    }

    /// Whether no run is wasted on waiting.
    pub fn is_unpaced(&self) -> bool {
        self.config.rate_pps.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Flow, Side};

    fn frame(checksum: bool) -> Vec<u8> {
        let side = |ip: &str| Side::new("02:78:77:00:00:01", ip, 9).unwrap();
        let flow = Flow::new(side("10.0.0.1"), side("10.0.0.2"));
        if checksum { flow.udp(&[1; 18]).unwrap() } else { flow.udp_of_length(60).unwrap() }
    }

    #[test]
    fn the_number_goes_in_front_of_the_payload_when_it_fits() {
        assert_eq!(FloodConfig::new(frame(true)).sequence, Some(Sequence { at: 42, first: 0 }));
        assert_eq!(FloodConfig::new(frame(true)[..46].to_vec()).sequence, None);
        assert_eq!(FloodConfig::new(vec![0; 60]).sequence, None);
    }

    #[test]
    fn checksums_are_followed_where_there_is_one() {
        let plan = Plan::new(FloodConfig::new(frame(true)), Ifindex(1)).unwrap();
        let checksum = plan.checksum.unwrap();
        assert!(checksum.at == 40 && checksum.never_zero);
        assert_eq!(plan.config.frame[42..50], [0; 8]);
        let plan = Plan::new(FloodConfig::new(frame(false)), Ifindex(1)).unwrap();
        assert_eq!(plan.checksum, None);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let good = FloodConfig::new(frame(true));
        let at = |at| FloodConfig { sequence: Some(Sequence { at, first: 0 }), ..good.clone() };
        let second = Duration::from_secs(1);
        for (label, config) in [
            ("short", FloodConfig::new(vec![0; 13])),
            ("too long", FloodConfig::new(vec![0; FLOOD_FRAME + 1])),
            ("no rate", FloodConfig { rate_pps: Some(0), ..good.clone() }),
            ("long", FloodConfig { duration: FLOOD_DURATION + second, ..good.clone() }),
            ("batch", FloodConfig { batch: 257, ..good.clone() }),
            ("outside", at(53)),
            ("in a header", at(34)),
            ("uneven", at(43)),
            ("far outside", at(usize::MAX)),
        ] {
            assert!(matches!(Plan::new(config, Ifindex(1)), Err(Error::Flood(_))), "{label}");
        }
    }
}
