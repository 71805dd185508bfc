//! `Capture`: packets of an interface as they come, and as its programs leave them.
//!
//! The programs that run are composed again with a probe around them, as a trial: when the capture
//! ends, the earlier program continues, and after a kill the next process restores it. Rule: a
//! capture changes no packet and no verdict, and each packet that matches is written or counted as
//! lost. A change of the programs by another process ends the trial; the capture then begins again
//! with the new programs.

mod report;
mod writer;

use std::fs::File;
use std::time::{Duration, Instant};

use functions::capture::abi::Counts;
use functions::capture::{self, CapturedPacket, Config, KEPT, MATCHES, RINGS, SETTINGS};
use kernel::{Map, MapCreate, Mode, RingBuffer};
use spec::asm::{Assembler, Reg};
use spec::compose::splice;
use spec::{Expect, Map as _, MapKind, ProgramKind, Spec};
use sys::net::Netlink;
use sys::netns::NetNs;
use sys::thread::monotonic_ns;

pub use report::{CaptureReport, Ended, PacketLine, comment};
pub use writer::{CaptureWriter, Rotation};

use crate::composition::LoadedChain;
use crate::error::{Context as _, Error, Result};
use crate::filter::source;
use crate::filter::update::TRIAL;
use crate::state::{State, Trial};
use crate::target::Target;
use crate::{Control, chain};

/// What is captured, and how.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// A tcpdump expression; `None` for all packets.
    pub expression: Option<String>,
    pub config: Config,
    /// Bytes of the ring of each processor, rounded up to a power of two.
    pub ring_bytes: u64,
    /// Mode on an interface without a program; `None`: native.
    pub mode: Option<Mode>,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        let (expression, config, mode) = (None, Config::default(), None);
        Self { expression, config, ring_bytes: 8 << 20, mode }
    }
}

/// A running capture. Dropping it restores the earlier program.
#[derive(Debug)]
pub struct Capture {
    control: Control,
    interface: String,
    options: CaptureOptions,
    probe: Spec,
    /// `None` while another trial runs on the interface.
    session: Option<Session>,
    /// Counters of sessions that ended.
    earlier: Counts,
    /// When the session was last checked, and the time of the probe was extended.
    checked: Instant,
    /// Declared after the session, so that it is released later: one trial at a time.
    _claim: File,
}

/// The programs of an interface with a probe around them.
#[derive(Debug)]
struct Session {
    trial: Trial,
    members: Vec<String>,
    rings: Vec<RingBuffer>,
    settings: Map,
    kept: Map,
}

/// Packets in the order of their time.
#[derive(Debug, Default)]
pub struct Batch {
    pub packets: Vec<CapturedPacket>,
    /// Names of the members of the chain that saw them.
    pub members: Vec<String>,
}

impl Batch {
    /// Name of the member that decided about a packet; `None` if no program runs.
    pub fn decider(&self, packet: &CapturedPacket) -> Option<&str> {
        self.members.get(packet.member).map(String::as_str)
    }
}

impl Capture {
    /// Puts a probe around the programs of an interface.
    ///
    /// # Errors
    /// Another trial runs on the interface, or another owner's program; the expression cannot be
    /// compiled; the kernel refuses the programs.
    pub fn start(control: &Control, interface: &str, options: CaptureOptions) -> Result<Self> {
        let probe = probe(options.expression.as_deref())?;
        let ifindex = Netlink::open()?.link(interface)?.ifindex;
        let claim = State::claim(control, NetNs::current()?.id()?, ifindex, TRIAL)?;
        let mut capture = Self {
            control: control.clone(),
            interface: interface.to_owned(),
            options,
            probe,
            session: None,
            earlier: Counts::default(),
            checked: Instant::now(),
            _claim: claim.map_err(Error::TrialRuns)?,
        };
        capture.session = capture.begin()?;
        Ok(capture)
    }

    /// Packets since the previous call. Extends the time of the probe, and follows changes of the
    /// programs; nothing is captured while another trial runs.
    ///
    /// # Errors
    /// The interface no longer exists, or the programs that run now cannot be captured.
    pub fn read(&mut self) -> Result<Batch> {
        let is_due = self.checked.elapsed() >= CHECK_INTERVAL;
        let is_over = match &self.session {
            Some(session) if is_due => !session.trial.runs()?,
            Some(_) => false,
            None => is_due,
        };
        if is_due {
            self.checked = Instant::now();
        }
        let mut batch = Batch::default();
        if let Some(session) = &mut self.session {
            batch.members.clone_from(&session.members);
            batch.packets = session.drain();
            if is_due && !is_over {
                extend(&session.settings, &self.options.config)?;
            }
        }
        if is_over {
            if let Some(session) = self.session.take() {
                let counts = session.counts()?;
                self.earlier.packets += counts.packets;
                self.earlier.lost += counts.lost;
            }
            self.session = self.begin()?;
        }
        Ok(batch)
    }

    /// Packets that matched, and those of them that were lost because a ring was full.
    pub fn counts(&self) -> Result<Counts> {
        let now = self.session.as_ref().map_or(Ok(Counts::default()), Session::counts)?;
        let Counts { packets, lost } = self.earlier;
        Ok(Counts { packets: packets + now.packets, lost: lost + now.lost })
    }

    /// Stops capturing, and returns the packets that were not read yet.
    ///
    /// # Errors
    /// The settings cannot be written.
    pub fn stop(&mut self) -> Result<Batch> {
        let Some(session) = &mut self.session else { return Ok(Batch::default()) };
        session.settings.update(&[0; 4], &Config::default().settings(0).to_bytes(), Expect::Any)?;
        sys::thread::wait_for_running_programs();
        Ok(Batch { packets: session.drain(), members: session.members.clone() })
    }

    /// Starts a session, unless another trial runs.
    fn begin(&self) -> Result<Option<Session>> {
        let target = Target::open(&self.control, &self.interface)?;
        if let Some((_, program)) = target.running_mode()?
            && target.slot.is_trial(program)?
        {
            return Ok(None);
        }
        let mut chain = chain::open(&target)?;
        chain.set_mode(self.options.mode.unwrap_or(chain.mode()))?;
        let members = chain.names();
        chain.set_probe(self.probe.clone())?;
        let loaded = chain.load().context("the packets cannot be captured")?;
        Session::start(&loaded, members, &self.options).map(Some)
    }
}

impl Session {
    fn start(
        loaded: &LoadedChain<'_>,
        members: Vec<String>,
        options: &CaptureOptions,
    ) -> Result<Self> {
        let outer = loaded.probe_map(RINGS)?;
        let size = options.ring_bytes.clamp(SMALLEST_RING, LARGEST_RING).next_power_of_two();
        let create = MapCreate {
            kind: MapKind::RINGBUF.0,
            max_entries: size as u32,
            name: "capture_ring",
            ..MapCreate::default()
        };
        let mut rings = Vec::new();
        for cpu in sys::cpu::online()? {
            let ring = Map::create(&create)?;
            outer.put_map(&(cpu as u32).to_ne_bytes(), &ring)?;
            rings.push(RingBuffer::new(&ring)?);
        }
        let settings = loaded.probe_map(SETTINGS)?.duplicate()?;
        let kept = loaded.probe_map(KEPT)?.duplicate()?;
        extend(&settings, &options.config)?;
        let trial = loaded.try_out()?;
        Ok(Self { trial, members, rings, settings, kept })
    }

    fn drain(&mut self) -> Vec<CapturedPacket> {
        let mut packets = Vec::new();
        for ring in &mut self.rings {
            ring.drain(|record| packets.extend(CapturedPacket::parse(record)));
        }
        packets.sort_by_key(|packet| packet.time_ns);
        packets
    }

    fn counts(&self) -> Result<Counts> {
        let mut total = Counts::default();
        let values = self.kept.lookup_per_cpu(&[0; 4])?;
        for value in values.iter().flat_map(|all| all.values()) {
            let counts = value.first_chunk().map(Counts::from_bytes).unwrap_or_default();
            total.packets += counts.packets;
            total.lost += counts.lost;
        }
        Ok(total)
    }
}

/// The probe captures from now on, until the lease is over.
fn extend(settings: &Map, config: &Config) -> Result<()> {
    let until = monotonic_ns() + LEASE.as_nanos() as u64;
    Ok(settings.update(&[0; 4], &config.settings(until).to_bytes(), Expect::Any)?)
}

/// The probe's object, with the code that selects packets.
fn probe(expression: Option<&str>) -> Result<Spec> {
    let mut spec = Spec::parse("capture", capture::OBJECT)?;
    if let Some(rings) = spec.maps.iter_mut().find(|map| map.name == RINGS) {
        rings.max_entries = sys::cpu::possible()? as u32;
    }
    let code = match expression {
        Some(text) => {
            let program = source::expression(text);
            let invalid = |reason| Error::Expression { text: text.to_owned(), reason };
            program.map_err(invalid)?.function(MATCHES)
        }
        None => {
            let mut all = Assembler::new(MATCHES, ProgramKind::XDP);
            all.mov32(Reg::R0, 1).exit();
            all
        }
    };
    Ok(splice(&spec, capture::BEFORE, MATCHES, code)?)
}

/// How often the running program is checked, and the lease extended.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How long the probe captures after its reader was killed.
const LEASE: Duration = Duration::from_secs(2);
const SMALLEST_RING: u64 = 4096;
const LARGEST_RING: u64 = 1 << 30;
