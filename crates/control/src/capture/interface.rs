//! `InterfaceCapture`: the capture of one interface.
//!
//! Rule: its claim outlives its session, so that one trial runs on an interface at a time.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use functions::capture::abi::Counts;
use functions::capture::{Config, KEPT, RINGS, SETTINGS, WANTED};
use kernel::{Map, MapCreate, RingBuffer};
use spec::{Expect, Map as _, MapKind};
use sys::netns::NetNs;
use sys::thread::monotonic_ns;

use super::{Batch, Members, Plan};
use crate::composition::LoadedChain;
use crate::error::{Context as _, Error, Result};
use crate::filter::update::TRIAL;
use crate::state::{State, Trial};
use crate::target::{Target, find_link};
use crate::{Control, chain};

/// The capture of one interface. Dropping it restores the earlier program.
#[derive(Debug)]
pub(super) struct InterfaceCapture {
    control: Control,
    name: String,
    /// Its number in the capture.
    number: usize,
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

impl InterfaceCapture {
    /// Claims an interface.
    ///
    /// # Errors
    /// There is no such interface, or another trial runs on it.
    pub fn claim(control: &Control, name: &str, number: usize) -> Result<Self> {
        let ifindex = find_link(name)?.ifindex;
        let claim = State::claim(control, NetNs::current()?.id()?, ifindex, TRIAL)?;
        Ok(Self {
            control: control.clone(),
            name: name.to_owned(),
            number,
            session: None,
            earlier: Counts::default(),
            checked: Instant::now(),
            _claim: claim.map_err(Error::TrialRuns)?,
        })
    }

    /// Begins a session, unless another trial runs. `enable` runs before the programs are attached,
    /// and has the settings of their probe.
    ///
    /// # Errors
    /// Another owner's program runs, or the kernel refuses the programs.
    pub fn begin(&mut self, plan: &Plan, enable: impl FnOnce(&Map) -> Result<()>) -> Result<()> {
        let target = Target::open(&self.control, &self.name)?;
        if let Some((_, program)) = target.running_mode()?
            && target.slot.is_trial(program)?
        {
            return Ok(());
        }
        let mut chain = chain::open(&target)?;
        chain.set_mode(plan.options.mode.unwrap_or(chain.mode()))?;
        let names = chain.names();
        chain.set_probe(plan.probe.clone())?;
        let members = Arc::new(Members::new(&target, names, chain.reasons())?);
        let loaded = chain.load().context("the packets cannot be captured")?;
        self.session = Some(Session::start(&loaded, members, plan, enable)?);
        Ok(())
    }

    /// Names, reasons and rules of the programs, while a session runs.
    pub fn members(&self) -> Option<&Members> {
        self.session.as_ref().map(|session| &*session.members)
    }

    /// Adds the packets since the previous call.
    pub fn drain(&mut self, batch: &mut Batch) {
        if let Some(session) = &mut self.session {
            session.drain(self.number, batch);
        }
    }

    /// Extends the time of the probe, and begins another session if the programs changed. Adds the
    /// last packets of the earlier one.
    ///
    /// # Errors
    /// The interface no longer exists, or the programs that run now cannot be captured.
    pub fn follow(&mut self, plan: &Plan, batch: &mut Batch) -> Result<()> {
        if self.checked.elapsed() < CHECK_INTERVAL {
            return Ok(());
        }
        self.checked = Instant::now();
        if let Some(session) = &mut self.session {
            if session.trial.runs()? {
                return extend(&session.settings, &plan.options.config);
            }
            session.drain(self.number, batch);
            let counts = session.counts()?;
            self.earlier.packets += counts.packets;
            self.earlier.lost += counts.lost;
            self.session = None;
        }
        self.begin(plan, |settings| extend(settings, &plan.options.config))
    }

    /// The probe captures from now on, until the lease is over.
    pub fn extend(&self, config: &Config) -> Result<()> {
        self.session.as_ref().map_or(Ok(()), |session| extend(&session.settings, config))
    }

    /// The probe captures nothing from now on.
    pub fn stop(&self) -> Result<()> {
        let Some(session) = &self.session else { return Ok(()) };
        let settings = Config::default().settings(0).to_bytes();
        Ok(session.settings.update(&[0; 4], &settings, Expect::Any)?)
    }

    /// Packets that matched, and those of them that were lost because a ring was full.
    pub fn counts(&self) -> Result<Counts> {
        let now = self.session.as_ref().map_or(Ok(Counts::default()), Session::counts)?;
        let Counts { packets, lost } = self.earlier;
        Ok(Counts { packets: packets + now.packets, lost: lost + now.lost })
    }
}

impl Session {
    /// Attaches the programs after `enable`, which has the settings of the probe.
    fn start(
        loaded: &LoadedChain<'_>,
        members: Arc<Members>,
        plan: &Plan,
        enable: impl FnOnce(&Map) -> Result<()>,
    ) -> Result<Self> {
        let outer = loaded.probe_map(RINGS)?;
        let create = MapCreate {
            kind: MapKind::RINGBUF.0,
            max_entries: plan.ring_bytes,
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
        if let Some(reason) = &plan.options.reason {
            let wanted = loaded.probe_map(WANTED)?;
            for (member, selected) in members.select(reason) {
                let entry = selected.entry().to_bytes();
                wanted.update(&(member as u32).to_ne_bytes(), &entry, Expect::Any)?;
            }
        }
        enable(&settings)?;
        let trial = loaded.try_out()?;
        Ok(Self { trial, members, rings, settings, kept })
    }

    fn drain(&mut self, interface: usize, batch: &mut Batch) {
        batch.begin(interface, &self.members);
        for ring in &mut self.rings {
            ring.drain(|record| batch.push(record));
        }
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
pub(super) fn extend(settings: &Map, config: &Config) -> Result<()> {
    let until = monotonic_ns() + LEASE.as_nanos() as u64;
    Ok(settings.update(&[0; 4], &config.settings(until).to_bytes(), Expect::Any)?)
}

/// How often the running program is checked, and the lease extended.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How long the probe captures after its reader was killed.
const LEASE: Duration = Duration::from_secs(2);
