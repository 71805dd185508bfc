//! Interfaces of this namespace, the programs that run on them, and their packets by verdict.
//!
//! Rule: a [`Status`] is computed from two [`Snapshot`]s and reads nothing. Programs that this
//! process may not read (`CAP_SYS_ADMIN`) are reported as not permitted.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

use serde::Serialize;
use sys::cap::Cap;
use sys::errno::EPERM;

use crate::Control;
use crate::counters::{Counted, Origin};
use crate::error::{Context as _, Error, Result};
use crate::rates::Rates;
use crate::snapshot::{ProgramTotals, Snapshot, SnapshotReader};

/// Interfaces with their programs and packet rates.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Time between the two readings that rates are made of, in seconds.
    pub interval_s: f64,
    /// Interfaces of this network namespace, also those without programs.
    pub interfaces: Vec<Interface>,
}

/// An interface of this namespace.
#[derive(Clone, Debug, Serialize)]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// Index of the interface.
    pub ifindex: u32,
    /// Enabled by its administrator.
    pub up: bool,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// Programs on the interface.
    pub programs: Vec<Running>,
}

impl Interface {
    /// Whether a filter of this project runs on it.
    pub(crate) fn runs_filter(&self) -> bool {
        self.runs("filter")
    }

    /// Whether a router of this project runs on it.
    pub(crate) fn runs_router(&self) -> bool {
        self.runs("forward")
    }

    /// Whether a balancer of this project runs on it.
    pub(crate) fn runs_balancer(&self) -> bool {
        self.runs("balance")
    }

    /// Whether this function of this project runs on it, perhaps as a member of a chain.
    fn runs(&self, function: &str) -> bool {
        self.programs.iter().any(|one| {
            let owner = one.owner.as_deref().and_then(|owner| owner.strip_prefix("xway "));
            owner == Some(function) || one.members.iter().any(|one| one == function)
        })
    }
}

/// A program on an interface.
#[derive(Clone, Debug, Serialize)]
pub struct Running {
    /// Id of the program.
    pub id: u32,
    /// `false` for a program of another owner that this process may not read (`CAP_SYS_ADMIN`):
    /// `name`, `tag`, `owner` and `rates` are `null`.
    pub permitted: bool,
    /// Name, at most 15 characters: the kernel keeps no more.
    pub name: Option<String>,
    /// Hash of the instructions, in hexadecimal digits.
    pub tag: Option<String>,
    /// `native`, `generic` or `offload`.
    pub mode: &'static str,
    /// `xway NAME` with the name that `attach` printed; `libxdp` for its dispatcher; else the
    /// processes that hold the program or its link; `a pin` when none does; `netlink` when it was
    /// attached without a link.
    pub owner: Option<String>,
    /// Names of the members of a chain, or of libxdp's dispatcher, in the order in which they run.
    pub members: Vec<String>,
    /// Id of the link; `null` for an attachment made by netlink, or where links may not be listed.
    pub link_id: Option<u32>,
    /// Packets by verdict; `null` for a program that does not count.
    pub rates: Option<Rates>,
    /// Time that its runs take; `null` unless the kernel measures it.
    pub run_time: Option<RunTime>,
    /// Seconds until the previous state returns unless `xway confirm` follows; `null` if nothing
    /// waits for a confirmation.
    pub unconfirmed_s: Option<f64>,
}

/// The runs of a program over the interval, on all interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunTime {
    /// Runs per second.
    pub runs_per_s: f64,
    /// Average time of a run in nanoseconds; `null` if there was none.
    pub ns_per_run: Option<f64>,
    /// Share of one processor in percent.
    pub cpu_percent: f64,
}

/// Reads the status repeatedly: a rate needs the counts of the previous reading.
#[derive(Debug)]
pub struct StatusMonitor {
    reader: SnapshotReader,
    last: Snapshot,
    statistics: Option<RunTimeMeasurement>,
}

/// While it exists, the kernel measures the time of runs of all programs on this host.
#[derive(Debug)]
pub struct RunTimeMeasurement {
    _statistics: OwnedFd,
}

impl RunTimeMeasurement {
    /// Begins to measure. Each run then takes some tens of nanoseconds longer.
    ///
    /// # Errors
    /// The process lacks `CAP_SYS_ADMIN`, or Linux is older than 5.8.
    pub fn begin() -> Result<Self> {
        match sys::bpf::enable_stats() {
            Ok(statistics) => Ok(Self { _statistics: statistics }),
            Err(error) if error.is(EPERM) => {
                let cause = Box::new(error.into());
                Err(Error::MissingCapabilities { missing: vec![Cap::SysAdmin], cause })
            }
            Err(error) => Err(error).context("the time of runs cannot be measured"),
        }
    }
}

impl StatusMonitor {
    /// Begins with a first reading. `interface` is the only one to report; `None` reports all of
    /// this namespace.
    ///
    /// # Errors
    /// There is no such interface, or the state directory cannot be read.
    pub fn new(control: &Control, interface: Option<&str>) -> Result<Self> {
        let mut reader = SnapshotReader::new(control, interface, Duration::ZERO)?;
        let last = reader.read()?;
        Ok(Self { reader, last, statistics: None })
    }

    /// Makes the kernel measure the time of runs, of all programs on this host, as long as the
    /// value lives. Each run then takes some tens of nanoseconds longer.
    ///
    /// # Errors
    /// The process lacks `CAP_SYS_ADMIN`, or Linux is older than 5.8.
    pub fn measure_run_time(&mut self) -> Result<()> {
        self.statistics = Some(RunTimeMeasurement::begin()?);
        Ok(())
    }

    /// The programs that run now, with rates since the previous reading.
    pub fn read(&mut self) -> Result<Status> {
        let now = self.reader.read()?;
        let last = std::mem::replace(&mut self.last, now);
        Ok(Status::between(&last, &self.last, self.statistics.is_some()))
    }

    /// Closes the programs that ran at the last reading, so that one which was replaced is freed.
    pub(crate) fn forget(&mut self) {
        self.reader.forget();
    }
}

impl Status {
    /// What runs, with rates since an earlier snapshot. `is_measured` if the kernel measured the
    /// time of runs between them; otherwise, only a program with runs has a time.
    pub fn between(before: &Snapshot, now: &Snapshot, is_measured: bool) -> Self {
        let interval = Interval::new(before, now, is_measured);
        let interfaces = now.interfaces.iter().map(|one| Interface {
            name: one.link.name.clone(),
            ifindex: one.link.ifindex.0,
            up: one.link.up,
            mtu: one.link.mtu,
            programs: one.programs.iter().map(|program| interval.running(program)).collect(),
        });
        Self { interval_s: interval.seconds, interfaces: interfaces.collect() }
    }
}

/// The time between two snapshots, and what had been counted before it.
#[derive(Debug)]
pub(crate) struct Interval<'a> {
    pub seconds: f64,
    counted: HashMap<Origin, &'a Counted>,
    runs: HashMap<u32, (u64, u64)>,
    is_measured: bool,
}

impl<'a> Interval<'a> {
    pub fn new(before: &'a Snapshot, now: &Snapshot, is_measured: bool) -> Self {
        Self {
            seconds: now.at.saturating_duration_since(before.at).as_secs_f64(),
            counted: before.counted(),
            runs: before.runs(),
            is_measured,
        }
    }

    /// What these counters had before. Counters that did not exist count from now on.
    pub fn before<'b>(&self, now: &'b Counted) -> &'b Counted
    where
        'a: 'b,
    {
        self.counted.get(&now.origin).copied().unwrap_or(now)
    }

    /// A program with its rates.
    pub fn running(&self, now: &ProgramTotals) -> Running {
        let before = now.counts(|one| self.before(one).counts.clone());
        let counts = before.zip(now.counts(|one| one.counts.clone()));
        Running {
            id: now.id,
            permitted: now.identity.is_some(),
            name: now.identity.as_ref().map(|identity| identity.name.clone()),
            tag: now.identity.as_ref().map(|identity| identity.tag.clone()),
            mode: now.mode.name(),
            owner: now.owner.clone(),
            members: now.member_names(),
            link_id: now.link_id,
            rates: counts.map(|(before, now)| Rates::between(&before, &now, self.seconds)),
            run_time: self.run_time(now),
            unconfirmed_s: now.unconfirmed_s,
        }
    }

    /// Time of the runs in the interval; `None` where the kernel does not measure them.
    fn run_time(&self, now: &ProgramTotals) -> Option<RunTime> {
        now.identity.as_ref()?;
        let (runs, time) = now.runs;
        let (runs_before, time_before) = self.runs.get(&now.id).copied().unwrap_or((runs, time));
        let is_measured = self.is_measured || runs > runs_before;
        if !is_measured || self.seconds <= 0.0 {
            return None;
        }
        let runs = runs.saturating_sub(runs_before) as f64;
        let ns = time.saturating_sub(time_before) as f64;
        Some(RunTime {
            runs_per_s: runs / self.seconds,
            ns_per_run: (runs > 0.0).then(|| ns / runs),
            cpu_percent: ns / self.seconds / 1e7,
        })
    }
}
