//! Reads the packets of a capture in order.
//!
//! Rule: packets before the damage of a damaged capture are used, and the damage is reported. A
//! request to end the run ends the capture early; results so far are still reported. Packets
//! without an Ethernet header get one if the options permit it.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use packet::header_len::ETHERNET as ETHERNET_HEADER;
use pcap::{Framer, Framing, Packet, Reader, Unframed};
use spec::{Input, Program, ProgramKind};
use sys::stdio::open_input;

use crate::callbacks::{Callbacks, Progress};
use crate::error::{Context as _, Error, Result};
use crate::notice::Notice;
use crate::options::Options;
use crate::results::Unfit;

/// One packet of the capture, ready to be run.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Position in the capture, from 1 as capture tools count.
    pub number: u64,
    pub timestamp_ns: u64,
    pub input: Input,
}

#[derive(Debug)]
pub struct Capture<'a> {
    options: &'a Options,
    callbacks: Callbacks,
    reader: Reader<File>,
    packet: Packet,
    framer: Framer,
    /// The capture is read again, so that notices were given before.
    is_known: bool,
    /// The next packet.
    ahead: Option<Played>,
    played: u64,
    /// The first packets, for rounds that measure.
    kept: Vec<Played>,
    kept_bytes: usize,
    /// Accepted lengths of packets.
    lengths: RangeInclusive<usize>,
    unfit: Unfit,
    /// Bytes of the file.
    size: u64,
    /// When requests to end the run were checked last.
    looked: Instant,
}

impl<'a> Capture<'a> {
    pub fn open(options: &'a Options, callbacks: &Callbacks) -> Result<Self> {
        Self::start(options, callbacks, false)
    }

    fn start(options: &'a Options, callbacks: &Callbacks, is_known: bool) -> Result<Self> {
        let path = &options.input;
        let file = open_input(path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        let size = file.metadata().map_or(0, |facts| facts.len());
        let reader = Reader::new(file).on_file(path)?;
        let mut capture = Self {
            options,
            callbacks: callbacks.clone(),
            reader,
            packet: Packet::default(),
            framer: Framer::new(options.link, Framing::default()),
            is_known,
            ahead: None,
            played: 0,
            kept: Vec::new(),
            kept_bytes: 0,
            lengths: ETHERNET_HEADER..=usize::MAX,
            unfit: Unfit::default(),
            size,
            looked: Instant::now(),
        };
        capture.ahead = capture.fetch()?;
        Ok(capture)
    }

    /// Opens the capture again from its beginning, for the same program; `None` if it cannot be
    /// read twice, such as a pipe.
    pub fn again(&self) -> Result<Option<Self>> {
        if !self.options.input.is_file() {
            return Ok(None);
        }
        let mut again = Self::start(self.options, &self.callbacks, true)?;
        again.lengths = self.lengths.clone();
        Ok(Some(again))
    }

    /// When the next packet was captured, in nanoseconds since 1970.
    pub fn time_ns(&self) -> Option<u64> {
        self.ahead.as_ref().map(|packet| packet.timestamp_ns)
    }

    /// The next packet; `None` at the end, at the limit, or after a request to end the run.
    pub fn next(&mut self) -> Result<Option<Played>> {
        while let Some(packet) = self.ahead.take() {
            self.ahead = self.fetch()?;
            if self.lengths.contains(&packet.input.packet.len()) {
                self.keep(&packet);
                return Ok(Some(packet));
            }
            self.unfit.packets += 1;
            self.unfit.first.get_or_insert(packet.number);
        }
        Ok(None)
    }

    /// Accepts only packets that a driver would pass to this program: with a complete Ethernet
    /// header, and in one buffer unless the program supports several.
    pub fn for_program(&mut self, program: &Program) {
        let takes_fragments = program.kind.flags & ProgramKind::XDP_FRAGS.flags != 0;
        let longest = if takes_fragments { usize::MAX } else { ONE_BUFFER };
        self.lengths = ETHERNET_HEADER..=longest;
    }

    /// Packets left out because no driver would pass them to the program.
    pub fn unfit(&self) -> Unfit {
        self.unfit
    }

    /// Numbers of packets to which an Ethernet header was added, by link type.
    pub fn framed(&self) -> BTreeMap<String, u64> {
        let added = self.framer.added().iter();
        added.map(|(link, packets)| (link.to_string(), *packets)).collect()
    }

    fn keep(&mut self, packet: &Played) {
        let bytes = packet.input.packet.len() + size_of::<Played>();
        if self.kept_bytes + bytes <= KEPT_BYTES {
            self.kept_bytes += bytes;
            self.kept.push(packet.clone());
        }
    }

    fn fetch(&mut self) -> Result<Option<Played>> {
        if self.options.limit.is_some_and(|limit| self.played >= limit) || self.was_stopped() {
            return Ok(None);
        }
        if !self.read()? {
            return Ok(None);
        }
        self.played += 1;
        self.played().map(Some)
    }

    /// The first packets of the capture, which are kept in memory.
    pub fn kept(&self) -> &[Played] {
        &self.kept
    }

    pub fn interrupted(&self) -> bool {
        self.callbacks.interrupt.has_come()
    }

    fn read(&mut self) -> Result<bool> {
        match self.reader.next_into(&mut self.packet) {
            Err(error) if self.played > 0 => {
                let (capture, cause) = (self.name(), error.to_string());
                let notice = Notice::DamagedCapture { capture, packet: self.played, cause };
                self.callbacks.observer.notify(&notice);
                Ok(false)
            }
            other => other.on_file(&self.options.input),
        }
    }

    fn played(&mut self) -> Result<Played> {
        let input = Input {
            packet: self.frame()?,
            metadata: Vec::new(),
            ingress_ifindex: self.options.ifindex,
            rx_queue: self.packet.queue.unwrap_or(self.options.queue),
        };
        Ok(Played { number: self.played, timestamp_ns: self.packet.timestamp_ns, input })
    }

    /// The packet as an Ethernet frame; empty if Ethernet does not carry it.
    fn frame(&mut self) -> Result<Vec<u8>> {
        let link_type = self.reader.interfaces()[self.packet.interface].link_type;
        let mut frame = Vec::new();
        match self.framer.frame(link_type, &self.packet.data, &mut frame) {
            Ok(Some(1)) if !self.is_known => {
                let (capture, framing) = (self.name(), self.framer.framing());
                let notice = Notice::AddedHeader { capture, link_type, framing };
                self.callbacks.observer.notify(&notice);
            }
            Ok(_) | Err(Unframed::Protocol | Unframed::Short) => {}
            Err(why) => {
                let (capture, packet, remedy) = (self.name(), self.played, why.remedy());
                return Err(Error::NotEthernet { capture, packet, link_type, remedy });
            }
        }
        Ok(frame)
    }

    fn was_stopped(&mut self) -> bool {
        if !self.played.is_multiple_of(LOOK) && self.looked.elapsed() < LOOK_AFTER {
            return false;
        }
        self.looked = Instant::now();
        let progress = Progress { bytes: self.reader.bytes_read(), size: self.size };
        self.callbacks.progress.report(progress);
        self.interrupted()
    }

    /// Path of the capture, for messages.
    fn name(&self) -> String {
        self.options.input.display().to_string()
    }
}

/// A page without the space that drivers reserve before (256) and after (320) a frame.
const ONE_BUFFER: usize = 4096 - 256 - 320;
/// Number of packets after which requests to end the run are checked.
const LOOK: u64 = 256;
/// Time after which these are checked, for slow programs.
const LOOK_AFTER: Duration = Duration::from_millis(20);
/// Bytes of a capture that are kept for measurements.
const KEPT_BYTES: usize = 64 << 20;
