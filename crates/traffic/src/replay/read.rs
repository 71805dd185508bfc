//! Reads a capture into a recording, packet by packet.
//!
//! Rule: the intact part of a damaged capture is sent, and memory remains below `limits::RECORDING`
//! for any capture.

use std::io::Read;
use std::time::Duration;

use pcap::{Interface, LinkPolicy, LinkType, Packet, Reader};

use super::framing;
use super::notes::{Notes, Reason};
use super::options::{Cut, Options, Timing};
use super::recording::{Frame, Recording};
use crate::error::{ConfigError, Error, Result};
use crate::limits::{FRAME_MAX, FRAME_MIN, RATE, RECORDING, RECORDING_FRAME};

impl Recording {
    /// Reads a capture, pcap or pcapng.
    ///
    /// # Errors
    /// When the capture cannot be read, is damaged before its first packet, has no packet that can
    /// be sent, or is too large, or when options are invalid. Damage after the first packet is
    /// reported by [`Notes::damage`].
    pub fn read(input: impl Read, options: &Options) -> Result<(Self, Notes)> {
        options.check()?;
        let mut reader = Reader::new(input)?;
        let mut receiver = Receiver::new(options);
        let mut packet = Packet::default();
        while options.first.is_none_or(|first| receiver.notes.packets < first) {
            match reader.next_into(&mut packet) {
                Ok(true) => {
                    let link = link_of(reader.interfaces(), &packet);
                    receiver.check(link)?;
                    receiver.take(link, &packet)?;
                }
                Ok(false) => break,
                Err(error @ pcap::Error::Read { .. }) => return Err(error.into()),
                Err(error) if receiver.notes.packets == 0 => return Err(error.into()),
                Err(error) => {
                    receiver.notes.damage = Some(error.to_string());
                    break;
                }
            }
        }
        receiver.finish()
    }
}

/// The link type of a packet.
fn link_of(interfaces: &[Interface], packet: &Packet) -> LinkType {
    interfaces.get(packet.interface).map(|interface| interface.link_type).unwrap_or_default()
}

/// A recording under construction.
struct Receiver<'a> {
    options: &'a Options,
    recording: Recording,
    notes: Notes,
    clock: Clock,
    /// The present frame, whose length edits may change.
    frame: Vec<u8>,
}

impl<'a> Receiver<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            options,
            recording: Recording { rounds: options.rounds, ..Recording::default() },
            notes: Notes::default(),
            clock: Clock::default(),
            frame: Vec::new(),
        }
    }

    /// Refuses a capture with packets of another link type than Ethernet, if the options do.
    fn check(&self, link: LinkType) -> Result<()> {
        if self.options.link == LinkPolicy::Strict && link != LinkType::ETHERNET {
            let packet = self.notes.packets + 1;
            return Err(ConfigError::NotEthernet { packet, link }.into());
        }
        Ok(())
    }

    fn take(&mut self, link: LinkType, packet: &Packet) -> Result<()> {
        self.notes.packets += 1;
        // The times of omitted packets count for later ones.
        let due = self.clock.tick(packet.timestamp_ns, self.options, &mut self.notes);
        match self.shape(link, packet) {
            Ok(()) => self.keep(due),
            Err(reason) => {
                self.notes.leave_out(reason);
                Ok(())
            }
        }
    }

    /// Builds the frame to send in `self.frame`.
    fn shape(&mut self, link: LinkType, packet: &Packet) -> Result<(), Reason> {
        let Self { options, notes, frame, .. } = self;
        frame.clear();
        let missing = (packet.original_len as usize).saturating_sub(packet.data.len());
        if missing > 0 && options.cut == Cut::LeaveOut {
            return Err(Reason::Cut);
        }
        let framed = framing::frame(link, &packet.data, &options.framing, frame)?;
        if missing > 0 && options.cut == Cut::Pad {
            if frame.len() + missing > FRAME_MAX {
                return Err(Reason::Long);
            }
            frame.resize(frame.len() + missing, 0);
        }
        let edited = options.edits.apply(frame);
        if frame.len() > options.longest() {
            return Err(Reason::Long);
        }
        if framed {
            *notes.framed.entry(link).or_default() += 1;
        }
        notes.edited += u64::from(edited);
        match options.cut {
            _ if missing == 0 => {}
            Cut::Pad => notes.padded += 1,
            _ => notes.cut += 1,
        }
        Ok(())
    }

    fn keep(&mut self, due: Duration) -> Result<()> {
        let Recording { bytes, frames, .. } = &mut self.recording;
        let needed = bytes.len() + self.frame.len() + (frames.len() + 1) * RECORDING_FRAME;
        if needed > RECORDING {
            return Err(ConfigError::CaptureTooLarge { frames: frames.len() }.into());
        }
        frames.push(Frame { at: bytes.len(), len: self.frame.len(), due });
        bytes.extend_from_slice(&self.frame);
        Ok(())
    }

    fn finish(mut self) -> Result<(Recording, Notes)> {
        if self.recording.frames.is_empty() {
            let lines = self.notes.lines();
            let notes = if lines.is_empty() { "it is empty".into() } else { lines.join("; ") };
            return Err(ConfigError::NothingToSend { notes }.into());
        }
        self.options.timing.apply(&mut self.recording);
        self.recording.bytes.shrink_to_fit();
        Ok((self.recording, self.notes))
    }
}

/// Converts the times of a capture.
#[derive(Debug, Default)]
struct Clock {
    /// Time of the latest packet.
    last_ns: Option<u64>,
    due: Duration,
}

impl Clock {
    /// The scheduled time of a packet with this time, at the speed of the capture.
    fn tick(&mut self, now_ns: u64, options: &Options, notes: &mut Notes) -> Duration {
        if !matches!(options.timing, Timing::Captured | Timing::Scaled(_)) {
            return Duration::ZERO;
        }
        // Formats without times have 0.
        if now_ns == 0 {
            notes.untimed += 1;
            return self.due;
        }
        let last_ns = *self.last_ns.get_or_insert(now_ns);
        notes.backwards += u64::from(now_ns < last_ns);
        let gap = Duration::from_nanos(now_ns.saturating_sub(last_ns));
        let kept = options.longest_gap.map_or(gap, |longest| gap.min(longest));
        notes.shortened += u64::from(kept < gap);
        self.last_ns = Some(now_ns.max(last_ns));
        self.due += kept;
        self.due
    }
}

impl Timing {
    /// Converts captured times to scheduled times.
    fn apply(self, recording: &mut Recording) {
        let frames = &mut recording.frames;
        let first = frames.first().map(|frame| frame.due).unwrap_or_default();
        frames.iter_mut().for_each(|frame| frame.due -= first);
        match self {
            Self::Captured => {}
            Self::Scaled(speed) => {
                frames.iter_mut().for_each(|frame| frame.due = frame.due.div_f64(speed));
            }
            Self::PacketsPerSecond(pps) => {
                let nth = |index: usize| Duration::from_secs_f64(index as f64 / pps);
                frames.iter_mut().enumerate().for_each(|(index, frame)| frame.due = nth(index));
            }
            Self::Max => frames.iter_mut().for_each(|frame| frame.due = Duration::ZERO),
        }
        let last = frames.last().map(|frame| frame.due).unwrap_or_default();
        // The last frame is as far from the next round's first as frames are on average.
        let gaps = frames.len().saturating_sub(1).max(1) as f64;
        recording.length = match (self, frames.len()) {
            (Self::Max, _) => Duration::ZERO,
            (Self::PacketsPerSecond(pps), count) => Duration::from_secs_f64(count as f64 / pps),
            (_, 1) => ALONE,
            _ => last + last.div_f64(gaps),
        };
    }
}

impl Options {
    /// Length of the longest frame that is sent. A VLAN tag does not count toward the MTU
    /// (`xdp_ok_fwd_dev` in net/core/filter.c at v6.18).
    fn longest(&self) -> usize {
        FRAME_MAX.min(self.mtu + FRAME_MIN + TAG)
    }

    fn check(&self) -> Result<()> {
        let fail = |wrong| Err(Error::Config(wrong));
        match self.timing {
            Timing::Scaled(given) if !SPEEDS.contains(&given) => {
                fail(ConfigError::Speed { min: *SPEEDS.start(), max: *SPEEDS.end(), given })
            }
            Timing::PacketsPerSecond(given) if !is_rate(given) => {
                fail(ConfigError::PacketRate { max: *RATE.end(), given })
            }
            _ if self.first == Some(0) => fail(ConfigError::FirstZero),
            _ => Ok(()),
        }
    }
}

fn is_rate(pps: f64) -> bool {
    pps >= SLOWEST && pps <= *RATE.end() as f64
}

/// Speeds at which the times of a capture fit 64 bits of nanoseconds.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
/// Lowest rate in packets a second: one in eleven days.
const SLOWEST: f64 = 1e-6;
/// Time between two rounds of a capture of one frame, which has no gap of its own.
const ALONE: Duration = Duration::from_secs(1);
/// Bytes of a VLAN tag.
const TAG: usize = 4;

#[cfg(test)]
mod tests;
