//! `detach`: what xway attached, or with `--force` whatever is there.

use anyhow::{Result, bail};
use kernel::{Mode, Program};
use sys::net::Netlink;

use super::attach::Target;
use super::{Context, Exit};
use crate::args::DetachArgs;
use crate::view::attach::Detached;

pub fn run(args: &DetachArgs, context: &Context) -> Result<Exit> {
    let target = Target::open(context, &args.iface)?;
    let programs = take_all_off(&target, args.force)?;
    let exit = if programs.is_empty() { Exit::No } else { Exit::Done };
    context.show(&Detached { interface: target.interface.clone(), programs })?;
    Ok(exit)
}

/// Whatever runs there; answers how it was called.
///
/// # Errors
/// Somebody else's is there, and not to be touched: then all stays.
pub fn take_all_off(target: &Target, force: bool) -> Result<Vec<String>> {
    let all: Vec<_> = Netlink::open()?.link_by_index(target.ifindex)?.xdp.programs().collect();
    let mut programs = Vec::new();
    for one in &all {
        programs.push(name(target, *one, force)?);
    }
    for (mode, program) in all {
        target.slot.take_off(target.ifindex, program, mode)?;
    }
    target.slot.clear()?;
    target.slot.offload().restore(Some(&target.interface))?;
    Ok(programs)
}

/// How its owner calls it. What xway attached is known by its pins, which takes fewer rights than
/// opening it by number.
///
/// # Errors
/// Another owner's, and not to be touched.
fn name(target: &Target, (mode, id): (Mode, u32), force: bool) -> Result<String> {
    if let Some(ours) = target.slot.generation_of(id)? {
        return Ok(ours.name().to_owned());
    }
    let program = Program::from_id(id);
    if force {
        return Ok(program?.name().to_owned());
    }
    let name = program.map(|program| format!(" `{}`", program.name())).unwrap_or_default();
    bail!(
        "{} runs program {id}{name} in {} mode, which xway did not attach; --force detaches it",
        target.interface,
        mode.name()
    )
}
