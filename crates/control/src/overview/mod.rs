//! Everything that happens on the interfaces of a namespace: traffic, programs, queues, processors.
//!
//! ```text
//!  Snapshot (interfaces, programs) ─┐
//!  driver's counters of queues ─────┼─▶ Reading ─▶ Overview::between two of them
//!  AF_XDP sockets, processors ──────┘
//! ```
//!
//! Rule: nothing that runs is changed, and a [`Reading`] is taken as a whole before anything is
//! computed. Not here: a single filter (`filter::monitor`), causes of losses (`losses`).

mod between;
mod queues;
mod reading;
mod report;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use sys::net::ethtool::Ethtool;

pub use reading::Reading;
pub use report::{
    CpuLoad, CpuVerdicts, InterfaceLoad, MemberLoad, Overview, ProgramLoad, QueueLoad, SocketLoad,
    Total, Traffic,
};

use crate::Control;
use crate::error::{Error, Result};
use crate::snapshot::{Snapshot, SnapshotReader};
use crate::status::RunTimeMeasurement;

/// Reads overviews repeatedly: a rate needs the counters of the previous reading.
#[derive(Debug)]
pub struct OverviewMonitor {
    reader: SnapshotReader,
    ethtool: Ethtool,
    /// Numbers of the possible CPUs.
    cpus: Vec<usize>,
    last: Reading,
    statistics: Option<RunTimeMeasurement>,
}

impl OverviewMonitor {
    /// Begins with a first reading. `interface` is the only one to report; `None` reports all of
    /// this namespace.
    ///
    /// # Errors
    /// There is no such interface, or the state directory cannot be read.
    pub fn new(control: &Control, interface: Option<&str>) -> Result<Self> {
        let mut reader = SnapshotReader::new(control, interface, HOLDERS)?;
        let ethtool = Ethtool::open()?;
        let last = Reading::complete(reader.read()?, &ethtool);
        let cpus = sys::cpu::possible_numbers()?;
        Ok(Self { reader, ethtool, cpus, last, statistics: None })
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

    /// What happened since the previous reading. Interfaces that were removed are missing.
    ///
    /// # Errors
    /// Interfaces or counters cannot be read.
    pub fn read(&mut self) -> Result<Overview> {
        let now = Reading::complete(self.snapshot()?, &self.ethtool);
        let last = std::mem::replace(&mut self.last, now);
        let is_measured = self.statistics.is_some();
        Ok(Overview::between(&last, &self.last, &self.cpus, is_measured))
    }

    /// Programs and interfaces may be replaced while they are read: then they are read again.
    fn snapshot(&mut self) -> Result<Snapshot> {
        for _ in 1..ATTEMPTS {
            match self.reader.read() {
                Err(Error::NoInterface { .. }) => {
                    return Ok(Snapshot { at: Instant::now(), interfaces: Vec::new() });
                }
                Err(_) => self.reader.forget(),
                read => return read,
            }
        }
        self.reader.read()
    }
}

/// Time for which the processes that hold programs of other owners are not searched again.
const HOLDERS: Duration = Duration::from_secs(5);
/// Readings until one is complete.
const ATTEMPTS: usize = 5;
