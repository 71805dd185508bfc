//! Reads the packets of a capture in order, with a progress bar for large files.
//!
//! Rule: packets before the damage of a damaged capture are used, and the damage is reported. A
//! signal ends the capture early; results so far are still reported.

use std::fs::File;
use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use pcap::{LinkType, Packet, Reader};
use spec::{Input, Program, ProgramKind};

use super::interrupt::Interrupt;
use crate::args::RunArgs;
use crate::view::run::Unfit;
use crate::view::say;

/// One packet of the capture, ready to be run.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Position in the capture, from 1 as capture tools count.
    pub number: u64,
    pub timestamp_ns: u64,
    pub input: Input,
}

pub struct Capture<'a> {
    args: &'a RunArgs,
    reader: Reader<File>,
    packet: Packet,
    /// The next packet.
    ahead: Option<Played>,
    played: u64,
    /// The first packets, for rounds that measure.
    kept: Vec<Played>,
    kept_bytes: usize,
    /// Accepted lengths of packets.
    lengths: RangeInclusive<usize>,
    unfit: Unfit,
    bar: ProgressBar,
    interrupt: Interrupt,
    /// When signals were checked last.
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

    /// Opens the capture again from its beginning, for the same program; `None` if it cannot be
    /// read twice, such as a pipe.
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

    /// The first packets of the capture, which are kept in memory.
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

/// A progress bar, hidden for small captures and without a terminal.
fn bar(size: u64) -> ProgressBar {
    if size < BIG || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

const ETHERNET_HEADER: usize = 14;
/// A page without the space that drivers reserve before (256) and after (320) a frame.
const ONE_BUFFER: usize = 4096 - 256 - 320;
/// Bytes of a capture from which a progress bar is shown.
const BIG: u64 = 8 << 20;
/// Number of packets after which signals are checked.
const LOOK: u64 = 256;
/// Time after which signals are checked, for slow programs.
const LOOK_AFTER: Duration = Duration::from_millis(20);
/// Bytes of a capture that are kept for measurements.
const KEPT_BYTES: usize = 64 << 20;
