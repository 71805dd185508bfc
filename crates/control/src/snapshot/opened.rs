//! `Attached`: a program on an interface, opened for reading.
//!
//! Rule: programs that this project attached are opened by their pins, so reading them takes no
//! more than access to the state directory. Others are opened by their ids, which takes
//! `CAP_SYS_ADMIN`.

use std::path::PathBuf;

use kernel::{Map, Mode, Program};
use spec::compose::VERDICTS_MAP;
use sys::errno::{EACCES, ENOENT, EPERM};
use sys::net::Ifindex;

use super::{MemberTotals, ProgramTotals};
use crate::counters::Counters;
use crate::dispatcher;
use crate::error::Result;
use crate::member::{self, Member};
use crate::state::{Generation, Identity, ProgramIdentity, Slot};

/// A program on an interface.
#[derive(Debug)]
pub struct Attached {
    pub mode: Mode,
    pub id: u32,
    pub access: Access,
    /// The link that is pinned in the state directory, if it holds this program.
    pub link_id: Option<u32>,
}

/// A program of this project that ran at the last reading.
#[derive(Debug)]
pub struct Known {
    pub opened: Box<Opened>,
    pub link_id: Option<u32>,
}

impl Attached {
    /// What the next reading need not open again; `None` for programs of other owners, which may
    /// be attached in other ways.
    pub fn known(self) -> Option<Known> {
        match self.access {
            Access::Open(opened) if opened.generation.is_some() && self.link_id.is_some() => {
                Some(Known { opened, link_id: self.link_id })
            }
            _ => None,
        }
    }

    /// Whether its owner, or its link, can only be found by searching all processes and links.
    pub fn is_foreign(&self) -> bool {
        let is_ours = matches!(&self.access, Access::Open(opened) if opened.generation.is_some());
        !is_ours || (self.link_id.is_none() && !self.access.is_read_only())
    }

    /// Its counters now. `holder` finds the owner of a program of another owner.
    pub fn totals(
        &self,
        link_id: Option<u32>,
        holder: impl FnOnce() -> String,
    ) -> Result<ProgramTotals> {
        let totals = ProgramTotals::new(self.id, self.mode, link_id);
        let Access::Open(opened) = &self.access else { return Ok(totals) };
        Ok(ProgramTotals {
            owner: Some(match &opened.generation {
                Some(_) if !opened.members.is_empty() => "xway chain".to_owned(),
                Some(ours) => format!("xway {}", ours.name()),
                None if opened.dispatched.is_some() => "libxdp".to_owned(),
                None => holder(),
            }),
            identity: Some(opened.identity.clone()),
            counted: opened.counters.as_ref().map(Counters::read_by_cpu).transpose()?,
            members: opened.member_totals()?,
            dispatched: opened.dispatched.clone(),
            runs: opened.runs,
            unconfirmed_s: opened.unconfirmed_s(),
            pins: opened.pins.clone(),
            ..totals
        })
    }
}

/// What this process may read of a program.
#[derive(Debug)]
pub enum Access {
    Open(Box<Opened>),
    /// It is not in the state directory, and this process lacks `CAP_SYS_ADMIN`.
    NotPermitted,
}

#[derive(Debug)]
pub struct Opened {
    /// `None` for a process that may only read the state.
    program: Option<Program>,
    identity: ProgramIdentity,
    /// Number of runs, and their time in nanoseconds.
    runs: (u64, u64),
    /// Its place in the state directory; `None` for a program of another owner.
    generation: Option<Generation>,
    /// `None` for a program that does not count, and for a chain.
    counters: Option<Counters>,
    /// The members of a chain with their counters; those of one that does not count have none.
    members: Vec<(Member, Option<Counters>)>,
    /// The map in which a chain counts and times its members.
    verdicts: Option<Map>,
    /// Names of the members of libxdp's dispatcher; `None` for another program.
    dispatched: Option<Vec<String>>,
    /// Where the state directory keeps it.
    pins: Vec<PathBuf>,
    /// Whether it must be confirmed, or was; a program that is loaded otherwise never must.
    is_confirmable: bool,
}

impl Access {
    /// Opens a program by its pin, else by its id; `None` where it is gone.
    pub fn of(slot: &Slot, ifindex: Ifindex, id: u32) -> Result<Option<Self>> {
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
        let (members, verdicts) = members(&generations)?;
        let counters = match (&generation, &program) {
            (Some(_), _) if !members.is_empty() => None,
            (Some(ours), _) => Counters::kept(ours)?,
            (None, Some(program)) => Counters::of(program)?,
            (None, None) => None,
        };
        let dispatched = match (&generation, &program) {
            (None, Some(program)) => dispatcher::read_open(ifindex, program)?,
            _ => None,
        };
        let dispatched = dispatched.map(|one| one.names());
        let pins = generations.iter().map(Generation::program_pin).filter(|path| path.exists());
        let pins = pins.collect();
        let is_confirmable = generation.as_ref().is_some_and(Generation::is_unconfirmed);
        let mut opened = Opened {
            program,
            identity,
            runs: (0, 0),
            generation,
            counters,
            members,
            verdicts,
            dispatched,
            pins,
            is_confirmable,
        };
        opened.read_runs()?;
        Ok(Some(Self::Open(Box::new(opened))))
    }

    /// Notes where its link is pinned.
    pub fn add_pin(&mut self, path: PathBuf) {
        if let Self::Open(opened) = self {
            opened.pins.push(path);
        }
    }

    /// Whether this process may only read the state.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::Open(opened) if opened.program.is_none())
    }
}

impl Opened {
    pub fn read_runs(&mut self) -> Result<()> {
        if let Some(program) = &self.program {
            let info = program.info()?;
            self.runs = (info.run_count, info.run_time_ns);
        }
        Ok(())
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

    fn member_totals(&self) -> Result<Vec<MemberTotals>> {
        let values = self.verdicts.as_ref().map(|map| map.lookup_per_cpu(&[0; 4])).transpose()?;
        let values = values.flatten();
        let totals = |(member, counters): &(Member, Option<Counters>)| {
            let counted = counters.as_ref().map(Counters::read_by_cpu).transpose()?;
            let ns = values.as_ref().and_then(|values| member::run_time_in(member, values));
            Ok(MemberTotals { member: member.clone(), counted, ns })
        };
        self.members.iter().map(totals).collect()
    }
}

/// A member with its counters, if it has any.
type Counted = (Member, Option<Counters>);

/// The members of a chain with their counters, and the map in which the chain times them; empty
/// for a program that was attached alone.
fn members(generations: &[Generation]) -> Result<(Vec<Counted>, Option<Map>)> {
    // Without pins of a member, the chain runs, and its verdicts are not known.
    let members = member::members(generations).unwrap_or_default();
    let verdicts = members.iter().map(|(_, generation)| generation.map_if_kept(VERDICTS_MAP));
    let verdicts = verdicts.collect::<Result<Vec<_>>>()?.into_iter().flatten().next();
    let counted = members.into_iter().map(|(member, generation)| {
        let counters = member::counters(&member, &generation)?;
        Ok((member, counters))
    });
    Ok((counted.collect::<Result<_>>()?, verdicts))
}
