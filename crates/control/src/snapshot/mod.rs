//! `Snapshot`: the interfaces of this namespace, their programs, and what these counted until now.
//!
//! Rule: a snapshot is a plain value of totals; what happened between two of them is computed from
//! both ([`status`](crate::status), [`overview`](crate::overview)), without reading anything.

mod holders;
mod opened;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kernel::Mode;
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::NetNs;

use crate::Control;
use crate::counters::{Counted, Counts, Origin};
use crate::error::Result;
use crate::member::{self, Member};
use crate::state::{ProgramIdentity, State};
use crate::target::no_interface;
use holders::Holders;
use opened::{Access, Attached, Known};

/// All totals at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When it was read.
    pub at: Instant,
    /// Interfaces in the order of their indices.
    pub interfaces: Vec<InterfaceTotals>,
}

/// An interface with its programs.
#[derive(Clone, Debug)]
pub struct InterfaceTotals {
    /// The interface with its own counters.
    pub link: Link,
    /// Programs on the interface.
    pub programs: Vec<ProgramTotals>,
}

/// A program on an interface.
#[derive(Clone, Debug)]
pub struct ProgramTotals {
    /// Id of the program.
    pub id: u32,
    /// Mode of the attachment.
    pub mode: Mode,
    /// Id of the link; `None` for an attachment made by netlink, or where links may not be listed.
    pub link_id: Option<u32>,
    /// Name and tag; `None` for a program that this process may not read.
    pub identity: Option<ProgramIdentity>,
    /// Who attached it; `None` for a program that this process may not read.
    pub owner: Option<String>,
    /// What a program that runs alone counted.
    pub counted: Option<Counted>,
    /// Members of a chain in the order in which they run; empty for a program that runs alone.
    pub members: Vec<MemberTotals>,
    /// Names of the members of libxdp's dispatcher, which count nothing; `None` for another
    /// program.
    pub dispatched: Option<Vec<String>>,
    /// Number of runs, and their time in nanoseconds, if the kernel measures them.
    pub runs: (u64, u64),
    /// Seconds in which the change must be confirmed.
    pub unconfirmed_s: Option<f64>,
    /// Where the program and its link are pinned, as far as this process may read it.
    pub pins: Vec<PathBuf>,
}

/// A member of a chain.
#[derive(Clone, Debug)]
pub struct MemberTotals {
    /// Its place in the chain.
    pub member: Member,
    /// What it counted; `None` for a member that is not counted.
    pub counted: Option<Counted>,
    /// Average nanoseconds of a run, if one was timed.
    pub ns: Option<f64>,
}

impl Snapshot {
    /// An interface by its index.
    pub fn interface(&self, ifindex: Ifindex) -> Option<&InterfaceTotals> {
        self.interfaces.iter().find(|one| one.link.ifindex == ifindex)
    }

    /// All counters by their origin.
    pub fn counted(&self) -> HashMap<Origin, &Counted> {
        let programs = self.interfaces.iter().flat_map(|one| &one.programs);
        programs.flat_map(ProgramTotals::all_counted).map(|one| (one.origin, one)).collect()
    }

    /// Runs by program, and their time in nanoseconds.
    pub fn runs(&self) -> HashMap<u32, (u64, u64)> {
        let programs = self.interfaces.iter().flat_map(|one| &one.programs);
        programs.map(|one| (one.id, one.runs)).collect()
    }
}

impl ProgramTotals {
    fn new(id: u32, mode: Mode, link_id: Option<u32>) -> Self {
        Self {
            id,
            mode,
            link_id,
            identity: None,
            owner: None,
            counted: None,
            members: Vec::new(),
            dispatched: None,
            runs: (0, 0),
            unconfirmed_s: None,
            pins: Vec::new(),
        }
    }

    /// Names of the members of a chain, or of libxdp's dispatcher.
    pub fn member_names(&self) -> Vec<String> {
        match &self.dispatched {
            Some(names) => names.clone(),
            None => self.members.iter().map(|one| one.member.name.clone()).collect(),
        }
    }

    /// Its counters, those of its members if it is a chain.
    pub fn all_counted(&self) -> impl Iterator<Item = &Counted> {
        self.counted.iter().chain(self.members.iter().filter_map(|one| one.counted.as_ref()))
    }

    /// Packets by the verdicts of the whole program, from a part of what each counter has; `None`
    /// for a program that does not count, and for a chain of which a member does not.
    pub fn counts(&self, part: impl Fn(&Counted) -> Counts) -> Option<Counts> {
        if self.members.is_empty() {
            return self.counted.as_ref().map(part);
        }
        let counts = |one: &MemberTotals| one.counted.as_ref().map(&part);
        let all: Option<Vec<_>> = self.members.iter().map(counts).collect();
        let members = self.members.iter().map(|one| &one.member);
        Some(member::final_counts(&members.zip(&all?).collect::<Vec<_>>()))
    }
}

/// Takes snapshots, and keeps open what it will read again.
#[derive(Debug)]
pub struct SnapshotReader {
    /// The only interface to read.
    only: Option<String>,
    control: Control,
    /// `None` as long as nothing runs: then no program has to be read.
    state: Option<State>,
    netns: NetNs,
    /// Programs of this project that ran at the last reading, which need not be opened again.
    known: HashMap<(Ifindex, u32), Known>,
    holders: Holders,
    /// How long the holders of programs are considered unchanged.
    holders_for: Duration,
}

impl SnapshotReader {
    /// Prepares to read. `interface` is the only one to report; `None` reports all of this
    /// namespace. Restores programs that trials replaced whose processes were killed.
    ///
    /// # Errors
    /// The namespace cannot be identified.
    pub fn new(control: &Control, interface: Option<&str>, holders_for: Duration) -> Result<Self> {
        let reader = Self {
            only: interface.map(str::to_owned),
            control: control.clone(),
            state: None,
            netns: NetNs::current()?,
            known: HashMap::new(),
            holders: Holders::default(),
            holders_for,
        };
        reader.restore_abandoned()?;
        Ok(reader)
    }

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

    /// Reads everything.
    ///
    /// # Errors
    /// There is no such interface, or the state directory cannot be read.
    pub fn read(&mut self) -> Result<Snapshot> {
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
        let found = links.into_iter().map(|link| {
            let programs = self.attached(&link, &mut known)?;
            Ok((link, programs))
        });
        let found = found.collect::<Result<Vec<_>>>()?;
        let foreign = found.iter().flat_map(|(_, programs)| programs);
        let foreign = foreign.filter(|one| one.is_foreign()).map(|one| one.id);
        self.holders.update(foreign.collect::<BTreeSet<_>>(), self.holders_for)?;
        let mut snapshot = Snapshot { at: Instant::now(), interfaces: Vec::new() };
        for (link, attached) in found {
            let mut programs = Vec::new();
            for one in attached {
                let link_id = one.link_id.or_else(|| self.holders.link(link.ifindex, one.id));
                let mut totals = one.totals(link_id, || self.holders.owner(one.id, link_id))?;
                if one.is_foreign() {
                    totals.pins = self.holders.pins(one.id, link_id);
                }
                programs.push(totals);
                let key = (link.ifindex, one.id);
                self.known.extend(one.known().map(|known| (key, known)));
            }
            snapshot.interfaces.push(InterfaceTotals { link, programs });
        }
        Ok(snapshot)
    }

    /// Closes the programs that ran at the last reading, so that one which was replaced is freed.
    pub fn forget(&mut self) {
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
            let Some(mut access) = Access::of(&slot, link.ifindex, id)? else { continue };
            let link = match slot.link() {
                // A process that may only read the state cannot open links.
                Err(_) if access.is_read_only() => None,
                link => link?,
            };
            let kept = link.map_or(Ok(None), |link| link.info())?;
            let link_id = kept.filter(|info| info.prog_id == id).map(|info| info.id);
            if link_id.is_some() {
                access.add_pin(slot.link_path());
            }
            all.push(Attached { mode, id, access, link_id });
        }
        Ok(all)
    }
}
