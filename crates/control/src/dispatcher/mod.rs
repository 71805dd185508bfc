//! libxdp's dispatcher: one program on the interface, which calls up to ten others.
//!
//! ```text
//!  interface ─▶ xdp_dispatcher ─▶ prog0 ─▶ prog1 ─▶ …    functions of the dispatcher
//!                │ .rodata: Config   ▲        ▲
//!                                    link     link         each replaced by a program (freplace)
//!
//!  interface ─▶ xdp_dispatcher   ◀── link                  replaced itself by the only program
//! ```
//!
//! Rule: the kernel knows which programs run: a member is found by the link that replaces its
//! function (Linux 5.13), not by a pin. Reading changes nothing. Not here: `adoption`, which moves
//! members to a chain.

pub mod config;
mod folder;
pub mod replaced;

use std::os::fd::AsFd;
use std::path::PathBuf;

use kernel::list::{self, Pins};
use kernel::{LinkTarget, Map, ProgInfo, Program};
use spec::Map as _;
use spec::btf::Btf;
use sys::bpf::uapi::map_flag;
use sys::bpf::{self, Kind};
use sys::errno::{ENOENT, EPERM};
use sys::net::Ifindex;

use crate::error::{Error, Result};
use config::{Config, Slot};
pub use folder::Folder;

/// A dispatcher on an interface.
#[derive(Debug)]
pub struct Dispatcher {
    /// Id of its program.
    pub id: u32,
    pub config: Config,
    /// One for each slot in use, in the order in which they run.
    pub members: Vec<DispatcherMember>,
    /// The directory of libxdp's pins; `None` if it is not found.
    pub folder: Option<Folder>,
}

/// A slot of a dispatcher.
#[derive(Debug)]
pub struct DispatcherMember {
    /// Name of the function that is replaced, such as `prog0`; the dispatcher itself if it has one
    /// program alone.
    pub function: String,
    pub slot: Slot,
    /// The program that replaces the function; `None` if none is attached, so that the next slot
    /// follows.
    pub program: Option<ProgInfo>,
    /// Paths at which the program and its link are pinned.
    pub pins: Vec<PathBuf>,
}

impl DispatcherMember {
    /// Whether its verdict is that of the dispatcher, also one on which it continues.
    pub fn is_final(&self) -> bool {
        self.function == NAME
    }

    /// Name of the program, or of the function if no program is found.
    pub fn name(&self) -> &str {
        self.program.as_ref().map_or(&self.function, |program| &program.name)
    }
}

impl Dispatcher {
    /// Names of the programs, in the order in which they run.
    pub fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name().to_owned()).collect()
    }
}

/// The dispatcher that this program is; `None` if it is another program.
///
/// # Errors
/// What the kernel knows of it cannot be read (`CAP_SYS_ADMIN`).
pub fn read(ifindex: Ifindex, program: &Program) -> Result<Option<Dispatcher>> {
    let info = program.info()?;
    let Some(config) = config(&info)? else { return Ok(None) };
    let folder = Folder::find(ifindex, info.id);
    let pins = Pins::now();
    let replaced = replaced(&info)?;
    let mut members = Vec::new();
    for (number, slot) in config.slots.iter().flatten().enumerate() {
        let function = format!("prog{number}");
        // The only program replaces the whole dispatcher.
        let is_it =
            |one: &&Replaced| one.function == function || (number == 0 && one.function == NAME);
        let link = replaced.iter().find(is_it);
        let program = link.map_or(Ok(None), |link| program_info(link.program))?;
        let of_program = program.iter().flat_map(|one| pins.of_program(one.id));
        let of_link = link.iter().flat_map(|one| pins.of_link(one.id));
        let pins = of_program.chain(of_link).cloned().collect();
        let function = link.map_or(function, |link| link.function.clone());
        members.push(DispatcherMember { function, slot: *slot, program, pins });
    }
    Ok(Some(Dispatcher { id: info.id, config, members, folder }))
}

/// The dispatcher that runs as the program with this id; `None` if it is another program, or
/// if this process may not read it.
pub fn read_by_id(ifindex: Ifindex, id: u32) -> Result<Option<Dispatcher>> {
    let found = Program::from_id(id).map_err(Error::from).and_then(|one| read(ifindex, &one));
    if_readable(found)
}

/// As [`read_by_id`], of a program that is open already.
pub fn read_open(ifindex: Ifindex, program: &Program) -> Result<Option<Dispatcher>> {
    if_readable(read(ifindex, program))
}

fn if_readable(found: Result<Option<Dispatcher>>) -> Result<Option<Dispatcher>> {
    match found {
        Err(error) if matches!(error.errno(), Some(ENOENT | EPERM)) => Ok(None),
        other => other,
    }
}

/// # Errors
/// The program is a dispatcher, which may not be replaced, since its members would end with it.
pub fn refuse(interface: &str, ifindex: Ifindex, id: u32) -> Result<()> {
    let Some(dispatcher) = read_by_id(ifindex, id)? else { return Ok(()) };
    let (interface, members) = (interface.to_owned(), dispatcher.names());
    Err(Error::Dispatcher { interface, id, members })
}

/// The configuration of a program that has the name of a dispatcher and a map of that form.
fn config(info: &ProgInfo) -> Result<Option<Config>> {
    if info.name != NAME {
        return Ok(None);
    }
    for id in &info.map_ids {
        let map = Map::from_id(*id)?;
        let attributes = map.info();
        let is_config = attributes.key_size == 4
            && attributes.max_entries == 1
            && attributes.flags & map_flag::RDONLY_PROG != 0;
        let value = if is_config { map.lookup(&[0; 4])? } else { None };
        if let Some(config) = value.as_deref().and_then(Config::parse) {
            return Ok(Some(config));
        }
    }
    Ok(None)
}

/// A link that replaces a function of the dispatcher.
#[derive(Debug)]
struct Replaced {
    id: u32,
    program: u32,
    /// Name of the function.
    function: String,
}

fn replaced(dispatcher: &ProgInfo) -> Result<Vec<Replaced>> {
    let mut all = Vec::new();
    let mut btf = None;
    for link in list::links()? {
        let LinkTarget::Function { object, btf_type } = link.target else { continue };
        if object != dispatcher.id {
            continue;
        }
        if btf.is_none() {
            btf = types(dispatcher.btf_id)?;
        }
        let function = btf.as_ref().and_then(|btf| Some(btf.ty(btf_type)?.name().to_owned()));
        let Some(function) = function else { continue };
        all.push(Replaced { id: link.id, program: link.prog_id, function });
    }
    Ok(all)
}

fn types(id: u32) -> Result<Option<Btf>> {
    let fd = bpf::fd_by_id(Kind::Btf, id)?;
    Ok(Btf::parse(&bpf::btf_info(fd.as_fd(), true)?.raw).ok())
}

/// `None` for a program that ended meanwhile.
fn program_info(id: u32) -> Result<Option<ProgInfo>> {
    match Program::from_id(id).and_then(|program| program.info()) {
        Err(error) if error.errno() == Some(ENOENT) => Ok(None),
        other => Ok(Some(other?)),
    }
}

/// Name of the dispatcher of each version.
const NAME: &str = "xdp_dispatcher";
