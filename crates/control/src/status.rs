//! Interfaces of this namespace, the programs that run on them, and their packets by verdict.
//!
//! Rule: programs that this project attached are opened by their pins, so reading them takes no
//! more than access to the state directory. Others are opened by their ids, which takes
//! `CAP_SYS_ADMIN`; without it they are reported as not permitted.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use kernel::list::{self, Owners};
use kernel::{LinkInfo, LinkTarget, Mode, Program};
use serde::Serialize;
use sys::cap::Cap;
use sys::errno::{EACCES, ENOENT, EPERM};
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::NetNs;

use crate::Control;
use crate::counters::{Counters, Counts};
use crate::dispatcher;
use crate::error::{Context as _, Error, Result};
use crate::member::{self, Member};
use crate::rates::Rates;
use crate::state::{Generation, Identity, ProgramIdentity, Slot, State};
use crate::target::no_interface;

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
        self.programs.iter().any(|one| {
            one.owner.as_deref() == Some("xway filter")
                || one.members.iter().any(|one| one == "filter")
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
    only: Option<String>,
    control: Control,
    /// `None` as long as nothing runs: then no program has to be read.
    state: Option<State>,
    netns: NetNs,
    /// Programs of this project that ran at the last reading, which need not be opened again.
    known: HashMap<(Ifindex, u32), Known>,
    last: Reading,
    /// As long as it is open, the kernel measures the time of runs.
    statistics: Option<OwnedFd>,
}

/// The counts of every program that counts, by where it runs.
#[derive(Debug, Default)]
struct Reading {
    at: Option<Instant>,
    counts: HashMap<(Ifindex, Mode, u32), Counts>,
    /// Number of runs, and their time in nanoseconds, by program.
    runs: HashMap<u32, (u64, u64)>,
}

impl StatusMonitor {
    /// Begins with a first reading. `interface` is the only one to report; `None` reports all of
    /// this namespace.
    ///
    /// # Errors
    /// There is no such interface, or the state directory cannot be read.
    pub fn new(control: &Control, interface: Option<&str>) -> Result<Self> {
        let mut monitor = Self {
            only: interface.map(str::to_owned),
            control: control.clone(),
            state: None,
            netns: NetNs::current()?,
            known: HashMap::new(),
            last: Reading::default(),
            statistics: None,
        };
        monitor.restore_abandoned()?;
        monitor.read()?;
        Ok(monitor)
    }

    /// Makes the kernel measure the time of runs, of all programs on this host, as long as the
    /// value lives. Each run then takes some tens of nanoseconds longer.
    ///
    /// # Errors
    /// The process lacks `CAP_SYS_ADMIN`, or Linux is older than 5.8.
    pub fn measure_run_time(&mut self) -> Result<()> {
        match sys::bpf::enable_stats() {
            Ok(statistics) => self.statistics = Some(statistics),
            Err(error) if error.is(EPERM) => {
                let cause = Box::new(error.into());
                return Err(Error::MissingCapabilities { missing: vec![Cap::SysAdmin], cause });
            }
            Err(error) => return Err(error).context("the time of runs cannot be measured"),
        }
        Ok(())
    }

    /// Restores programs that trials replaced whose processes were killed.
    fn restore_abandoned(&self) -> Result<()> {
        // A state that cannot be read is reported if a program runs.
        let Ok(state) = State::read(&self.control) else { return Ok(()) };
        let netns = self.netns.id()?;
        for link in Netlink::open()?.links().unwrap_or_default() {
            let running = link.xdp.programs().map(|(_, id)| id);
            state.restore_abandoned(&state.slot(netns, link.ifindex), running);
        }
        Ok(())
    }

    /// The programs that run now, with rates since the previous reading.
    pub fn read(&mut self) -> Result<Status> {
        let mut links = Netlink::open()?.links()?;
        if let Some(only) = &self.only {
            links.retain(|one| one.name == *only);
            if links.is_empty() {
                let known = Netlink::open()?.links()?;
                return Err(no_interface(only, &known));
            }
        }
        if self.state.is_none() && links.iter().any(|one| !one.xdp.is_empty()) {
            self.state = Some(State::read(&self.control)?);
        }
        let mut known = std::mem::take(&mut self.known);
        let found = links.iter().map(|link| Ok((link, self.attached(link, &mut known)?)));
        let found = found.collect::<Result<Vec<_>>>()?;
        let mut reading = Reading { at: Some(Instant::now()), ..Reading::default() };
        for (link, programs) in &found {
            for one in programs {
                let Access::Open(opened) = &one.access else { continue };
                reading.runs.insert(one.id, opened.runs);
                if let Some(counts) = opened.counts()? {
                    reading.counts.insert((link.ifindex, one.mode, one.id), counts);
                }
            }
        }
        let last = std::mem::replace(&mut self.last, reading);
        let elapsed = last.at.map_or(Duration::ZERO, |at| at.elapsed());
        // Finding the processes that hold programs means reading the descriptors of every process.
        let is_foreign =
            |(_, programs): &(_, Vec<Attached>)| programs.iter().any(Attached::is_foreign);
        let holders = Holders::now(found.iter().any(is_foreign))?;
        let interfaces: Vec<_> = found
            .iter()
            .map(|(link, programs)| {
                let programs = programs.iter();
                Interface {
                    name: link.name.clone(),
                    ifindex: link.ifindex.0,
                    up: link.up,
                    mtu: link.mtu,
                    programs: programs
                        .map(|one| self.running(link, one, (&last, elapsed), &holders))
                        .collect(),
                }
            })
            .collect();
        let all = found.into_iter().flat_map(|(link, programs)| {
            programs.into_iter().filter_map(|one| Some(((link.ifindex, one.id), one.known()?)))
        });
        self.known = all.collect();
        Ok(Status { interval_s: elapsed.as_secs_f64(), interfaces })
    }

    /// Closes the programs that ran at the last reading, so that one which was replaced is freed.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    /// The programs of an interface, without those that were detached meanwhile.
    fn attached(
        &self,
        link: &Link,
        known: &mut HashMap<(Ifindex, u32), Known>,
    ) -> Result<Vec<Attached>> {
        let Some(state) = &self.state else { return Ok(Vec::new()) };
        let slot = state.slot(self.netns.id()?, link.ifindex);
        let mut all = Vec::new();
        for (mode, id) in link.xdp.programs() {
            if let Some(Known { mut opened, link_id }) = known.remove(&(link.ifindex, id)) {
                opened.read_runs()?;
                all.push(Attached { mode, id, access: Access::Open(opened), link_id });
                continue;
            }
            let Some(access) = Access::of(&slot, link.ifindex, id)? else { continue };
            let link = match slot.link() {
                // A process that may only read the state cannot open links.
                Err(_) if access.is_read_only() => None,
                link => link?,
            };
            let kept = link.map_or(Ok(None), |link| link.info())?;
            let link_id = kept.filter(|info| info.prog_id == id).map(|info| info.id);
            all.push(Attached { mode, id, access, link_id });
        }
        Ok(all)
    }

    fn running(
        &self,
        link: &Link,
        one: &Attached,
        (last, elapsed): (&Reading, Duration),
        holders: &Holders,
    ) -> Running {
        let key = (link.ifindex, one.mode, one.id);
        let rates = self.last.counts.get(&key).map(|now| {
            Rates::between(last.counts.get(&key).unwrap_or(now), now, elapsed.as_secs_f64())
        });
        let opened = match &one.access {
            Access::Open(opened) => Some(opened),
            Access::NotPermitted => None,
        };
        let link_id = one.link_id.or_else(|| holders.link(link.ifindex, one.id));
        Running {
            id: one.id,
            permitted: opened.is_some(),
            name: opened.map(|opened| opened.identity.name.clone()),
            tag: opened.map(|opened| opened.identity.tag.clone()),
            mode: one.mode.name(),
            owner: opened.map(|opened| match &opened.generation {
                Some(_) if !opened.members.is_empty() => "xway chain".to_owned(),
                Some(ours) => format!("xway {}", ours.name()),
                None if opened.dispatched.is_some() => "libxdp".to_owned(),
                None => holders.owner(one.id, link_id),
            }),
            members: opened.map(|opened| opened.member_names()).unwrap_or_default(),
            link_id,
            rates,
            run_time: self.run_time(one.id, last, elapsed.as_secs_f64()),
            unconfirmed_s: opened.and_then(|opened| opened.unconfirmed_s()),
        }
    }
}

impl StatusMonitor {
    /// Time of the runs since the last reading; `None` where the kernel does not count them.
    fn run_time(&self, program: u32, last: &Reading, seconds: f64) -> Option<RunTime> {
        let (runs, time) = *self.last.runs.get(&program)?;
        let (runs_before, time_before) = last.runs.get(&program).copied().unwrap_or((runs, time));
        let is_measured = self.statistics.is_some() || runs > runs_before;
        if !is_measured || seconds <= 0.0 {
            return None;
        }
        let runs = runs.saturating_sub(runs_before) as f64;
        let ns = time.saturating_sub(time_before) as f64;
        Some(RunTime {
            runs_per_s: runs / seconds,
            ns_per_run: (runs > 0.0).then(|| ns / runs),
            cpu_percent: ns / seconds / 1e7,
        })
    }
}

/// A program on an interface.
#[derive(Debug)]
struct Attached {
    mode: Mode,
    id: u32,
    access: Access,
    /// The link that is pinned in the state directory, if it holds this program.
    link_id: Option<u32>,
}

/// A program of this project that ran at the last reading.
#[derive(Debug)]
struct Known {
    opened: Box<Opened>,
    link_id: Option<u32>,
}

impl Attached {
    /// What the next reading need not open again; `None` for programs of other owners, which may
    /// be attached in other ways.
    fn known(self) -> Option<Known> {
        match self.access {
            Access::Open(opened) if opened.generation.is_some() && self.link_id.is_some() => {
                Some(Known { opened, link_id: self.link_id })
            }
            _ => None,
        }
    }

    /// Whether its owner, or its link, can only be found by searching all processes and links.
    fn is_foreign(&self) -> bool {
        let is_ours = matches!(&self.access, Access::Open(opened) if opened.generation.is_some());
        !is_ours || (self.link_id.is_none() && !self.access.is_read_only())
    }
}

/// What this process may read of a program.
#[derive(Debug)]
enum Access {
    Open(Box<Opened>),
    /// It is not in the state directory, and this process lacks `CAP_SYS_ADMIN`.
    NotPermitted,
}

#[derive(Debug)]
struct Opened {
    /// `None` for a process that may only read the state.
    program: Option<Program>,
    identity: ProgramIdentity,
    /// Number of runs, and their time in nanoseconds.
    runs: (u64, u64),
    /// Its place in the state directory; `None` for a program of another owner.
    generation: Option<Generation>,
    /// `None` for a program that does not count, and for a chain.
    counters: Option<Counters>,
    /// The members of a chain with their counters.
    members: Vec<(Member, Counters)>,
    /// The members of libxdp's dispatcher; `None` for another program.
    dispatched: Option<Vec<String>>,
    /// Whether it must be confirmed, or was; a program that is loaded otherwise never must.
    is_confirmable: bool,
}

impl Access {
    /// Opens a program by its pin, else by its id; `None` where it is gone.
    fn of(slot: &Slot, ifindex: Ifindex, id: u32) -> Result<Option<Self>> {
        let generations = slot.generations_of(id)?;
        let generation = generations.first().cloned();
        let program = match slot.open(id) {
            Ok(program) => Some(program),
            Err(error) if error.errno() == Some(ENOENT) => return Ok(None),
            Err(error) if error.errno() == Some(EPERM) => return Ok(Some(Self::NotPermitted)),
            Err(error) if error.errno() == Some(EACCES) => None,
            Err(error) => return Err(error),
        };
        let identity = match (&generation, &program) {
            (Some(generation), None) => {
                generation.identity()?.and_then(|one| one.find(id).cloned())
            }
            (_, Some(program)) => Some(Identity::of(program, None)?.program),
            (None, None) => None,
        };
        let Some(identity) = identity else { return Ok(Some(Self::NotPermitted)) };
        let members = members(&generations)?;
        let counters = match (&generation, &program) {
            (Some(_), _) if !members.is_empty() => None,
            (Some(ours), _) => Counters::kept(ours)?,
            (None, Some(program)) => Counters::of(program)?,
            (None, None) => None,
        };
        let dispatched = match &generation {
            Some(_) => None,
            None => dispatcher::read_by_id(ifindex, id)?.map(|one| one.names()),
        };
        let is_confirmable = generation.as_ref().is_some_and(Generation::is_unconfirmed);
        let mut opened = Opened {
            program,
            identity,
            runs: (0, 0),
            generation,
            counters,
            members,
            dispatched,
            is_confirmable,
        };
        opened.read_runs()?;
        Ok(Some(Self::Open(Box::new(opened))))
    }

    /// Whether this process may only read the state.
    fn is_read_only(&self) -> bool {
        matches!(self, Self::Open(opened) if opened.program.is_none())
    }
}

impl Opened {
    fn read_runs(&mut self) -> Result<()> {
        if let Some(program) = &self.program {
            let info = program.info()?;
            self.runs = (info.run_count, info.run_time_ns);
        }
        Ok(())
    }

    fn member_names(&self) -> Vec<String> {
        if let Some(dispatched) = &self.dispatched {
            return dispatched.clone();
        }
        self.members.iter().map(|(member, _)| member.name.clone()).collect()
    }

    /// Seconds in which the change must be confirmed.
    fn unconfirmed_s(&self) -> Option<f64> {
        let generation = self.generation.as_ref().filter(|_| self.is_confirmable)?;
        let left = generation.time_left().ok()??;
        let confirmed = match generation.identity().ok()? {
            Some(identity) => identity.confirmed?.id,
            None => generation.confirmed().ok()??.id(),
        };
        (confirmed != self.identity.id).then_some(left.as_secs_f64())
    }

    /// `None` for a program that does not count.
    fn counts(&self) -> Result<Option<Counts>> {
        if self.members.is_empty() {
            return self.counters.as_ref().map(Counters::read).transpose();
        }
        let read = |(member, counters): &(Member, Counters)| Ok((member.clone(), counters.read()?));
        let members: Vec<_> = self.members.iter().map(read).collect::<Result<_>>()?;
        Ok(Some(member::final_counts(&members)))
    }
}

/// The members of a chain with their counters; empty for a program that was attached alone.
fn members(generations: &[Generation]) -> Result<Vec<(Member, Counters)>> {
    // Without pins of a member, the chain runs, and its verdicts are not known.
    let members = member::members(generations).unwrap_or_default();
    let counted = members.into_iter().map(|(member, generation)| {
        Ok(member::counters(&member, &generation)?.map(|counters| (member, counters)))
    });
    let counted: Vec<_> = counted.collect::<Result<_>>()?;
    Ok(counted.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default())
}

/// Links and processes that hold programs.
#[derive(Debug)]
struct Holders {
    owners: Owners,
    /// Empty where this process may not list them.
    links: Vec<LinkInfo>,
}

impl Holders {
    fn now(is_needed: bool) -> Result<Self> {
        if !is_needed {
            return Ok(Self { owners: Owners::default(), links: Vec::new() });
        }
        let links = match list::links() {
            Err(error) if error.errno() == Some(EPERM) => Vec::new(),
            links => links?,
        };
        Ok(Self { owners: Owners::now(), links })
    }

    fn link(&self, ifindex: Ifindex, program: u32) -> Option<u32> {
        let target = LinkTarget::Xdp { ifindex: ifindex.0 };
        let is_it = |one: &&LinkInfo| one.target == target && one.prog_id == program;
        self.links.iter().find(is_it).map(|one| one.id)
    }

    /// The processes that hold a program or its link.
    fn owner(&self, program: u32, link: Option<u32>) -> String {
        let of_link = link.map(|id| self.owners.of_link(id)).unwrap_or_default();
        let mut names: Vec<_> = of_link
            .iter()
            .chain(self.owners.of_program(program))
            .filter(|owner| owner.pid != std::process::id())
            .map(ToString::to_string)
            .collect();
        names.sort();
        names.dedup();
        match (names.is_empty(), link) {
            (false, _) => names.join(", "),
            (true, Some(_)) => "a pin".to_owned(),
            (true, None) => "netlink".to_owned(),
        }
    }
}
