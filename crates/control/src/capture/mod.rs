//! `Capture`: packets of interfaces as they come, and as their programs leave them.
//!
//! The programs that run are composed again with a probe around them, as a trial: when the capture
//! ends, the earlier program continues, and after a kill the next process restores it. Rule: a
//! capture changes no packet and no verdict, and each packet that matches is written or counted as
//! lost. A change of the programs by another process ends the trial; the capture then begins again
//! with the new programs.

mod batch;
mod interface;
mod members;
mod report;
mod writer;

use std::time::Duration;

use functions::capture::abi::Counts;
use functions::capture::{self, Config, MATCHES, RINGS};
use kernel::Mode;
use spec::asm::{Assembler, Reg};
use spec::compose::splice;
use spec::{ProgramKind, Spec};
use sys::net::Netlink;
use sys::thread::monotonic_ns;

pub use batch::{Batch, BatchPacket};
pub use members::{Comments, Members, RuleLine};
pub use report::{CaptureReport, Ended, InterfaceCounts, PacketLine, changes};
pub use writer::{CaptureWriter, Rotation};

use interface::{InterfaceCapture, extend};

use crate::Control;
use crate::error::{Error, Result};
use crate::filter::source;

/// What is captured, and how.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// A tcpdump expression; `None` for all packets.
    pub expression: Option<String>,
    pub config: Config,
    /// Captures only packets for this reason, or by the rule with this name or number.
    pub reason: Option<String>,
    /// Bytes of the ring of each processor, rounded up to a power of two; `None`: 32 MiB, or less
    /// where there are many processors or interfaces.
    pub ring_bytes: Option<u64>,
    /// Mode on interfaces without a program; `None`: native.
    pub mode: Option<Mode>,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        let (expression, reason, ring_bytes, mode) = (None, None, None, None);
        Self { expression, config: Config::default(), reason, ring_bytes, mode }
    }
}

/// A running capture of one or several interfaces. Dropping it restores the earlier programs.
#[derive(Debug)]
pub struct Capture {
    plan: Plan,
    interfaces: Vec<InterfaceCapture>,
}

/// What is captured on each interface.
#[derive(Debug)]
struct Plan {
    options: CaptureOptions,
    probe: Spec,
    /// Bytes of the ring of each processor.
    ring_bytes: u32,
}

impl Capture {
    /// Puts a probe around the programs of each interface, or of none if it fails on one. The
    /// probes begin to capture together, once the last one is about to run.
    ///
    /// # Errors
    /// Another trial runs on an interface, or another owner's program; an interface is named twice;
    /// the expression cannot be compiled; the kernel refuses the programs.
    pub fn start(
        control: &Control,
        interfaces: &[String],
        mut options: CaptureOptions,
    ) -> Result<Self> {
        options.config.is_selective = options.reason.is_some();
        let probe = probe(options.expression.as_deref())?;
        let ring_bytes = ring_bytes(options.ring_bytes, interfaces.len())?;
        let mut capture = Self { plan: Plan { options, probe, ring_bytes }, interfaces: vec![] };
        for (number, name) in interfaces.iter().enumerate() {
            if interfaces.iter().take(number).any(|earlier| earlier == name) {
                return Err(Error::InterfaceTwice { interface: name.clone() });
            }
            capture.interfaces.push(InterfaceCapture::claim(control, name, number)?);
        }
        capture.begin()?;
        Ok(capture)
    }

    fn begin(&mut self) -> Result<()> {
        let (plan, config) = (&self.plan, &self.plan.options.config);
        if let Some((last, earlier)) = self.interfaces.split_last_mut() {
            for interface in &mut *earlier {
                interface.begin(plan, |_| Ok(()))?;
            }
            last.begin(plan, |settings| {
                earlier.iter().try_for_each(|interface| interface.extend(config))?;
                extend(settings, config)
            })?;
        }
        match &self.plan.options.reason {
            Some(reason) => {
                let members = self.interfaces.iter().filter_map(InterfaceCapture::members);
                Members::require(&members.collect::<Vec<_>>(), reason)
            }
            None => Ok(()),
        }
    }

    /// Replaces the packets of a batch by those since the previous call. Extends the time of the
    /// probes, and follows changes of the programs; nothing is captured on an interface while
    /// another trial runs on it. Packets of the last millisecond are left for the next call, so
    /// that all are in the order of their time.
    ///
    /// # Errors
    /// An interface no longer exists, or the programs that run now cannot be captured. The batch
    /// then has all packets that came until now.
    pub fn read(&mut self, batch: &mut Batch) -> Result<()> {
        batch.clear();
        let settled = monotonic_ns().saturating_sub(SETTLED.as_nanos() as u64);
        self.interfaces.iter_mut().for_each(|interface| interface.drain(batch));
        let plan = &self.plan;
        let result = self.interfaces.iter_mut().try_for_each(|one| one.follow(plan, batch));
        batch.finish(if result.is_ok() { settled } else { u64::MAX });
        result
    }

    /// Packets of each interface that matched, and those of them that were lost because a ring was
    /// full.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn counts(&self) -> Result<Vec<Counts>> {
        self.interfaces.iter().map(InterfaceCapture::counts).collect()
    }

    /// Stops capturing. The batch then has the packets that were not read yet.
    ///
    /// # Errors
    /// The settings cannot be written.
    pub fn stop(&mut self, batch: &mut Batch) -> Result<()> {
        batch.clear();
        self.interfaces.iter().try_for_each(InterfaceCapture::stop)?;
        sys::thread::wait_for_running_programs();
        self.interfaces.iter_mut().for_each(|interface| interface.drain(batch));
        batch.finish(u64::MAX);
        Ok(())
    }
}

/// Bytes of the ring of each processor: as wanted, or so that all rings of the interfaces fit into
/// the memory for them.
fn ring_bytes(wanted: Option<u64>, interfaces: usize) -> Result<u32> {
    let rings = sys::cpu::online()?.len().saturating_mul(interfaces).max(1) as u64;
    let size = wanted.unwrap_or((DEFAULT_MEMORY / rings).min(DEFAULT_RING));
    Ok(size.clamp(SMALLEST_RING, LARGEST_RING).next_power_of_two() as u32)
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

/// After this time, a packet is in its ring: longer than programs run.
const SETTLED: Duration = Duration::from_millis(1);
const SMALLEST_RING: u64 = 4096;
/// A quarter of a second at a million short packets a second.
const DEFAULT_RING: u64 = 32 << 20;
/// Memory of all rings by default, those of all interfaces together.
const DEFAULT_MEMORY: u64 = 512 << 20;
const LARGEST_RING: u64 = 1 << 30;
