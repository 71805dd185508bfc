//! The capture that is played: packets in order, with a progress bar on big files.
//!
//! Rule: what a damaged capture holds before the damage is used, and the damage is told. A
//! signal ends the capture early; what was gathered is still reported.

use std::fs::File;
use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use packet::header_len::ETHERNET as ETHERNET_HEADER;
use pcap::{LinkType, Packet, Reader};
use spec::{Input, Program, ProgramKind};

use super::interrupt::Interrupt;
use crate::args::RunArgs;
use crate::view::run::Unfit;
use crate::view::say;

/// One packet of the capture, ready to be run.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// From 1, as capture tools count.
    pub number: u64,
    pub timestamp_ns: u64,
    pub input: Input,
}

pub struct Capture<'a> {
    args: &'a RunArgs,
    reader: Reader<File>,
    packet: Packet,
    /// The next one to be given.
    ahead: Option<Played>,
    played: u64,
    /// The first packets, for rounds that measure.
    kept: Vec<Played>,
    kept_bytes: usize,
    /// Of packets that are given.
    lengths: RangeInclusive<usize>,
    unfit: Unfit,
    bar: ProgressBar,
    interrupt: Interrupt,
    /// When signals were looked for last.
    looked: Instant,
}

impl<'a> Capture<'a> {
    pub fn open(args: &'a RunArgs, interrupt: &Interrupt) -> Result<Self> {
        let name = args.input.display();
        let file = File::open(&args.input).with_context(|| format!("cannot open {name}"))?;
        let size = file.metadata().map_or(0, |facts| facts.len());
        let reader = Reader::new(file).with_context(|| name.to_string())?;
        let mut capture = Self {
            args,
            reader,
            packet: Packet::default(),
            ahead: None,
            played: 0,
            kept: Vec::new(),
            kept_bytes: 0,
            lengths: ETHERNET_HEADER..=usize::MAX,
            unfit: Unfit::default(),
            bar: bar(size),
            interrupt: interrupt.clone(),
            looked: Instant::now(),
        };
        capture.ahead = capture.fetch()?;
        Ok(capture)
    }

    /// The same capture from its beginning, for the same programs; `None` where it cannot be read
    /// twice, such as a pipe.
    pub fn again(&self) -> Result<Option<Self>> {
        if !self.args.input.is_file() {
            return Ok(None);
        }
        let mut again = Self::open(self.args, &self.interrupt)?;
        again.lengths = self.lengths.clone();
        Ok(Some(again))
    }

    /// When the next packet was captured, in nanoseconds since 1970.
    pub fn time_ns(&self) -> Option<u64> {
        self.ahead.as_ref().map(|packet| packet.timestamp_ns)
    }

    /// The next packet; `None` at the end, at the limit, or after a signal.
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

    /// Gives only packets that a driver would give this program: whole Ethernet headers, and in
    /// one buffer unless it takes several.
    pub fn for_program(&mut self, program: &Program) {
        let takes_fragments = program.kind.flags & ProgramKind::XDP_FRAGS.flags != 0;
        let longest = if takes_fragments { usize::MAX } else { ONE_BUFFER };
        self.lengths = ETHERNET_HEADER..=longest;
    }

    /// Packets left out because no driver would give them to the program.
    pub fn unfit(&self) -> Unfit {
        self.unfit
    }

    fn keep(&mut self, packet: &Played) {
        let bytes = packet.input.packet.len() + size_of::<Played>();
        if self.kept_bytes + bytes <= KEPT_BYTES {
            self.kept_bytes += bytes;
            self.kept.push(packet.clone());
        }
    }

    fn fetch(&mut self) -> Result<Option<Played>> {
        if self.args.limit.is_some_and(|limit| self.played >= limit) || self.was_stopped() {
            return Ok(None);
        }
        if !self.read()? {
            return Ok(None);
        }
        self.played += 1;
        self.played().map(Some)
    }

    /// As much of the capture's beginning as is kept in memory.
    pub fn kept(&self) -> &[Played] {
        &self.kept
    }

    pub fn interrupted(&self) -> bool {
        self.interrupt.has_come()
    }

    fn read(&mut self) -> Result<bool> {
        let name = self.args.input.display();
        match self.reader.next_into(&mut self.packet) {
            Ok(more) => Ok(more),
            Err(error) if self.played > 0 => {
                say(&format!("xway: {name}: after packet {}: {error}", self.played));
                Ok(false)
            }
            Err(error) => Err(error).with_context(|| name.to_string()),
        }
    }

    fn played(&self) -> Result<Played> {
        let interface = &self.reader.interfaces()[self.packet.interface];
        if interface.link_type != LinkType::ETHERNET {
            bail!(
                "{}: packet {} is {}: XDP programs see Ethernet frames only",
                self.args.input.display(),
                self.played,
                interface.link_type
            );
        }
        let input = Input {
            packet: self.packet.data.clone(),
            metadata: Vec::new(),
            ingress_ifindex: self.args.ifindex,
            rx_queue: self.packet.queue.unwrap_or(self.args.queue),
        };
        Ok(Played { number: self.played, timestamp_ns: self.packet.timestamp_ns, input })
    }

    fn was_stopped(&mut self) -> bool {
        if !self.played.is_multiple_of(LOOK) && self.looked.elapsed() < LOOK_AFTER {
            return false;
        }
        self.looked = Instant::now();
        self.bar.set_position(self.reader.bytes_read());
        self.interrupt.has_come()
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Only for captures that take a while, and for people.
fn bar(size: u64) -> ProgressBar {
    if size < BIG || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A page less what drivers keep in front (256) and behind (320).
const ONE_BUFFER: usize = 4096 - 256 - 320;
/// Captures of that many bytes get a progress bar.
const BIG: u64 = 8 << 20;
/// Packets between looks at signals.
const LOOK: u64 = 256;
/// The same as a time, for slow programs.
const LOOK_AFTER: Duration = Duration::from_millis(20);
/// What is kept of a capture to measure with.
const KEPT_BYTES: usize = 64 << 20;
