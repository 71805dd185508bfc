//! `ChainReport`: the members of an interface with their counters.

use std::collections::BTreeMap;

use serde::Serialize;
use spec::Verdict;
use sys::netns::NetNs;

use crate::Control;
use crate::dispatcher::{self, Dispatcher, DispatcherMember};
use crate::error::{ChainError, Result};
use crate::member::{self, ChainForm, Member};
use crate::state::{Generation, State};
use crate::target::find_link;

/// The chain of an interface.
#[derive(Clone, Debug, Serialize)]
pub struct ChainReport {
    /// Name of the interface.
    pub interface: String,
    /// `native` or `generic`; `null` if nothing runs.
    pub mode: Option<&'static str>,
    /// Id of the composed program, or of the dispatcher; `null` if nothing runs.
    pub program_id: Option<u32>,
    /// How the members became one program: `composed`, or `tail-calls` if they cannot be composed;
    /// `libxdp` if the program is the dispatcher of libxdp, whose members `xway` does not change.
    pub form: &'static str,
    /// Why the members are not composed, or cannot be read; `null` otherwise.
    pub reason: Option<String>,
    /// Version of the dispatcher of libxdp; `null` for a chain of `xway`.
    pub dispatcher_version: Option<u8>,
    /// Members in the order in which they run.
    pub members: Vec<MemberReport>,
}

/// A member of a chain.
#[derive(Clone, Debug, Serialize)]
pub struct MemberReport {
    /// Name of the member.
    pub name: String,
    /// Name of its program.
    pub program: String,
    /// Members run in ascending order.
    pub priority: u32,
    /// Verdicts after which the next member runs.
    pub continue_on: Vec<String>,
    /// Packets that it saw; `null` for a program that is not counted.
    pub packets: Option<u64>,
    /// Bytes of these packets.
    pub bytes: Option<u64>,
    /// Packets by its verdict; `invalid` are return values that are not verdicts.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Average nanoseconds of a run: about one packet of 1,024 is timed. `null` until one was, and
    /// for a program that runs alone.
    pub ns: Option<f64>,
    /// The program, if it is one of its own: of libxdp's dispatcher, not of a chain of `xway`.
    #[serde(flatten)]
    pub own: Option<OwnProgram>,
}

/// A program that the dispatcher of libxdp calls.
#[derive(Clone, Debug, Serialize)]
pub struct OwnProgram {
    /// Id of the program; `null` if none is attached to the slot. This key and the next two are
    /// those of members of libxdp's dispatcher alone.
    pub id: Option<u32>,
    /// Hash of the instructions, in hexadecimal digits.
    pub tag: Option<String>,
    /// Paths at which the program and its link are pinned.
    pub pins: Vec<String>,
}

impl MemberReport {
    fn new(member: &Member, generation: &Generation) -> Result<Self> {
        let counters = member::counters(member, generation)?;
        let counts = counters.map(|counters| counters.read()).transpose()?;
        let mut verdicts = BTreeMap::new();
        let mut total = None;
        if let Some(counts) = counts {
            total = Some(counts.total());
            for verdict in Verdict::ALL {
                verdicts.insert(verdict.name(), counts.verdict(verdict).packets);
            }
            verdicts.insert("invalid", counts.invalid.packets);
        }
        Ok(Self {
            name: member.name.clone(),
            program: member.program.clone(),
            priority: member.priority,
            continue_on: member.continue_on.clone(),
            packets: total.map(|total| total.packets),
            bytes: total.map(|total| total.bytes),
            verdicts,
            ns: member::run_time(member, generation)?,
            own: None,
        })
    }

    /// A member of libxdp's dispatcher, which counts nothing.
    fn dispatched(member: &DispatcherMember) -> Self {
        let program = member.program.as_ref();
        Self {
            name: member.name().to_owned(),
            program: member.name().to_owned(),
            priority: member.slot.priority,
            continue_on: member::names(member.slot.continue_on),
            packets: None,
            bytes: None,
            verdicts: BTreeMap::new(),
            ns: None,
            own: Some(OwnProgram {
                id: program.map(|one| one.id),
                tag: program.map(|one| kernel::tag_text(&one.tag)),
                pins: member.pins.iter().map(|path| path.display().to_string()).collect(),
            }),
        }
    }
}

/// Reads the chain of an interface, without a lock. Restores what ran before a trial or a change
/// that is over.
pub fn read(control: &Control, interface: &str) -> Result<ChainReport> {
    let link = find_link(interface)?;
    let mut report = ChainReport {
        interface: interface.to_owned(),
        mode: None,
        program_id: None,
        form: COMPOSED,
        reason: None,
        dispatcher_version: None,
        members: Vec::new(),
    };
    if link.xdp.is_empty() {
        return Ok(report);
    }
    let state = State::read(control)?;
    let slot = state.slot(NetNs::current()?.id()?, link.ifindex);
    state.restore_abandoned(&slot, link.xdp.programs().map(|(_, id)| id));
    let link = find_link(interface)?;
    let mut programs = link.xdp.programs();
    let Some((mode, id)) = programs.next() else { return Ok(report) };
    if programs.next().is_some() {
        return Err(ChainError::SeveralModes.into());
    }
    (report.mode, report.program_id) = (Some(mode.name()), Some(id));
    let generations = slot.generations_of(id)?;
    if generations.is_empty()
        && let Some(dispatcher) = dispatcher::read_by_id(link.ifindex, id)?
    {
        show_dispatcher(&mut report, &dispatcher);
        return Ok(report);
    }
    let members = member::members(&generations)?;
    if let Some((first, _)) = members.first().filter(|(one, _)| one.form == ChainForm::TailCalls) {
        (report.form, report.reason) = (TAIL_CALLS, first.reason.clone());
    }
    match (members.as_slice(), generations.as_slice()) {
        ([], [alone]) => report.members.push(MemberReport::new(&alone_member(alone), alone)?),
        _ => {
            for (member, generation) in &members {
                report.members.push(MemberReport::new(member, generation)?);
            }
        }
    }
    Ok(report)
}

fn show_dispatcher(report: &mut ChainReport, dispatcher: &Dispatcher) {
    let version = dispatcher.config.version;
    (report.form, report.dispatcher_version) = (LIBXDP, Some(version));
    if dispatcher.config.slots.is_none() {
        report.reason = Some(format!("the layout of version {version} is unknown"));
    }
    report.members = dispatcher.members.iter().map(MemberReport::dispatched).collect();
}

/// A program that was attached alone, as the only member.
fn alone_member(generation: &Generation) -> Member {
    let program = generation.identity().ok().flatten().map(|one| one.program.name);
    Member::new(generation.name(), &program.unwrap_or_default())
}

const COMPOSED: &str = "composed";
const LIBXDP: &str = "libxdp";
const TAIL_CALLS: &str = "tail-calls";
