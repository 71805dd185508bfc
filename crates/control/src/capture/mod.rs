//! `Capture`: packets of an interface as they come, and as its programs leave them.
//!
//! The programs that run are composed again with a probe around them, as a trial: when the capture
//! ends, the earlier program continues, and after a kill the next process restores it. Rule: a
//! capture changes no packet and no verdict, and each packet that matches is written or counted as
//! lost. A change of the programs by another process ends the trial; the capture then begins again
//! with the new programs.

mod batch;
mod members;
mod report;
mod writer;

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use functions::capture::abi::Counts;
use functions::capture::{self, Config, KEPT, MATCHES, RINGS, SETTINGS, WANTED};
use kernel::{Map, MapCreate, Mode, RingBuffer};
use spec::asm::{Assembler, Reg};
use spec::compose::splice;
use spec::{Expect, Map as _, MapKind, ProgramKind, Spec};
use sys::net::Netlink;
use sys::netns::NetNs;
use sys::thread::monotonic_ns;

pub use batch::Batch;
pub use members::{Comments, Members, RuleLine};
pub use report::{CaptureReport, Ended, PacketLine, changes};
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
    /// Captures only packets for this reason, or by the rule with this name or number.
    pub reason: Option<String>,
    /// Bytes of the ring of each processor, rounded up to a power of two; `None`: 32 MiB, or less
    /// where there are many processors.
    pub ring_bytes: Option<u64>,
    /// Mode on an interface without a program; `None`: native.
    pub mode: Option<Mode>,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        let (expression, reason, ring_bytes, mode) = (None, None, None, None);
        Self { expression, config: Config::default(), reason, ring_bytes, mode }
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
    members: Arc<Members>,
    rings: Vec<RingBuffer>,
    settings: Map,
    kept: Map,
}

impl Capture {
    /// Puts a probe around the programs of an interface.
    ///
    /// # Errors
    /// Another trial runs on the interface, or another owner's program; the expression cannot be
    /// compiled; the kernel refuses the programs.
    pub fn start(control: &Control, interface: &str, mut options: CaptureOptions) -> Result<Self> {
        options.config.is_selective = options.reason.is_some();
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
        if let (Some(reason), Some(session)) = (&capture.options.reason, &capture.session) {
            session.members.require(reason)?;
        }
        Ok(capture)
    }

    /// Replaces the packets of a batch by those since the previous call. Extends the time of the
    /// probe, and follows changes of the programs; nothing is captured while another trial runs.
    ///
    /// # Errors
    /// The interface no longer exists, or the programs that run now cannot be captured.
    pub fn read(&mut self, batch: &mut Batch) -> Result<()> {
        batch.clear();
        let is_due = self.checked.elapsed() >= CHECK_INTERVAL;
        let is_over = match &self.session {
            Some(session) if is_due => !session.trial.runs()?,
            Some(_) => false,
            None => is_due,
        };
        if is_due {
            self.checked = Instant::now();
        }
        if let Some(session) = &mut self.session {
            session.drain(batch);
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
        Ok(())
    }

    /// Packets that matched, and those of them that were lost because a ring was full.
    pub fn counts(&self) -> Result<Counts> {
        let now = self.session.as_ref().map_or(Ok(Counts::default()), Session::counts)?;
        let Counts { packets, lost } = self.earlier;
        Ok(Counts { packets: packets + now.packets, lost: lost + now.lost })
    }

    /// Stops capturing. The batch then has the packets that were not read yet.
    ///
    /// # Errors
    /// The settings cannot be written.
    pub fn stop(&mut self, batch: &mut Batch) -> Result<()> {
        batch.clear();
        let Some(session) = &mut self.session else { return Ok(()) };
        session.settings.update(&[0; 4], &Config::default().settings(0).to_bytes(), Expect::Any)?;
        sys::thread::wait_for_running_programs();
        session.drain(batch);
        Ok(())
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
        let names = chain.names();
        chain.set_probe(self.probe.clone())?;
        let members = Arc::new(Members::new(&target, names, chain.reasons())?);
        let loaded = chain.load().context("the packets cannot be captured")?;
        Session::start(&loaded, members, &self.options).map(Some)
    }
}

impl Session {
    fn start(
        loaded: &LoadedChain<'_>,
        members: Arc<Members>,
        options: &CaptureOptions,
    ) -> Result<Self> {
        let outer = loaded.probe_map(RINGS)?;
        let cpus = sys::cpu::online()?;
        let default = || (DEFAULT_MEMORY / cpus.len() as u64).min(DEFAULT_RING);
        let size = options.ring_bytes.unwrap_or_else(default);
        let size = size.clamp(SMALLEST_RING, LARGEST_RING).next_power_of_two();
        let create = MapCreate {
            kind: MapKind::RINGBUF.0,
            max_entries: size as u32,
            name: "capture_ring",
            ..MapCreate::default()
        };
        let mut rings = Vec::new();
        for cpu in cpus {
            let ring = Map::create(&create)?;
            outer.put_map(&(cpu as u32).to_ne_bytes(), &ring)?;
            rings.push(RingBuffer::new(&ring)?);
        }
        let settings = loaded.probe_map(SETTINGS)?.duplicate()?;
        let kept = loaded.probe_map(KEPT)?.duplicate()?;
        if let Some(reason) = &options.reason {
            let wanted = loaded.probe_map(WANTED)?;
            for (member, selected) in members.select(reason) {
                let entry = selected.entry().to_bytes();
                wanted.update(&(member as u32).to_ne_bytes(), &entry, Expect::Any)?;
            }
        }
        extend(&settings, &options.config)?;
        let trial = loaded.try_out()?;
        Ok(Self { trial, members, rings, settings, kept })
    }

    fn drain(&mut self, batch: &mut Batch) {
        for ring in &mut self.rings {
            ring.drain(|record| batch.push(record));
        }
        batch.finish(&self.members);
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

/// Names of the interfaces of this namespace that can be captured.
///
/// # Errors
/// They cannot be listed.
pub fn interfaces() -> Result<Vec<String>> {
    let links = Netlink::open()?.links()?.into_iter();
    Ok(links.map(|link| link.name).filter(|name| name != "lo").collect())
}

/// Fails if it is not an expression of tcpdump.
///
/// # Errors
/// [`Error::Expression`].
pub fn check_expression(text: &str) -> Result<()> {
    probe(Some(text)).map(drop)
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
/// A quarter of a second at a million short packets a second.
const DEFAULT_RING: u64 = 32 << 20;
/// Memory of all rings by default.
const DEFAULT_MEMORY: u64 = 512 << 20;
const LARGEST_RING: u64 = 1 << 30;
