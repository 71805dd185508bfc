//! Detaching all programs of an interface.

use kernel::{Mode, Program};
use serde::Serialize;
use sys::net::Netlink;

use crate::dispatcher;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::target::Target;

/// What was detached from an interface.
#[derive(Clone, Debug, Serialize)]
pub struct Detached {
    /// Name of the interface.
    pub interface: String,
    /// Names of the programs, as `attach` printed them, or the kernel's when another tool attached
    /// them.
    pub programs: Vec<String>,
    /// Names of other interfaces that the balancer was detached from as well, because it translates
    /// addresses on all of them.
    pub also: Vec<String>,
}

/// Detaches every program of the interface and returns their names.
///
/// # Errors
/// A program of another owner runs on the interface and `force` is not set.
pub fn detach_all(target: &Target, force: bool) -> Result<Vec<String>> {
    let all: Vec<_> = Netlink::open()?.link_by_index(target.ifindex)?.xdp.programs().collect();
    let mut programs = Vec::new();
    for one in &all {
        programs.extend(names(target, *one, force)?);
    }
    for (mode, program) in all {
        target.slot.detach(target.ifindex, program, mode)?;
    }
    for program in &programs {
        let (program, interface) = (program.clone(), target.interface.clone());
        target.slot.notify(&Notice::Detached { program, interface });
    }
    target.slot.clear()?;
    target.slot.offload().restore(Some(&target.interface))?;
    Ok(programs)
}

/// The names that a program's owner gave it: those of all members of a chain. Programs that are
/// kept in the state directory are known by their pins, which takes fewer rights than opening them
/// by their numbers.
///
/// # Errors
/// Another process owns it and `force` is not set, or it is the dispatcher of libxdp.
fn names(target: &Target, (mode, id): (Mode, u32), force: bool) -> Result<Vec<String>> {
    let ours = target.slot.generations_of(id)?;
    if !ours.is_empty() {
        return Ok(ours.iter().map(|one| one.name().to_owned()).collect());
    }
    dispatcher::refuse(&target.interface, target.ifindex, id)?;
    let program = Program::from_id(id);
    if force {
        return Ok(vec![program?.name().to_owned()]);
    }
    let name = program.map(|program| format!(" `{}`", program.name())).unwrap_or_default();
    Err(Error::ForeignProgram { interface: target.interface.clone(), id, name, mode: mode.name() })
}
