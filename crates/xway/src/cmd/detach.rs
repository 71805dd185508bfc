//! `detach`: what xway attached, or with `--force` whatever is there.

use anyhow::{Result, bail};
use kernel::{Link, Program, list};
use std::os::fd::AsFd;
use sys::net::{Netlink, XdpExpect};

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
    let all = attached(target)?;
    let mut programs = Vec::new();
    for one in &all {
        programs.push(name(target, one, force)?);
    }
    all.iter().try_for_each(|one| take_off(target, one))?;
    target.slot.clear()?;
    target.slot.offload().restore(Some(&target.interface))?;
    Ok(programs)
}

fn attached(target: &Target) -> Result<Vec<list::Attached>> {
    let all = list::interfaces()?.into_iter();
    let mut here = all.filter(|one| one.link.ifindex == target.ifindex);
    Ok(here.next().map(|one| one.programs).unwrap_or_default())
}

/// How its owner calls it.
///
/// # Errors
/// Somebody else's, and not to be touched.
fn name(target: &Target, one: &list::Attached, force: bool) -> Result<String> {
    let list::Attached { program, mode, .. } = one;
    match target.slot.generation_of(program.id) {
        Some(ours) => Ok(ours.name().to_owned()),
        None if force => Ok(program.name.clone()),
        None => bail!(
            "{} runs program {} `{}` in {} mode, which xway did not attach; --force detaches it",
            target.interface,
            program.id,
            program.name,
            mode.name()
        ),
    }
}

/// Exactly this program: one that took its place meanwhile stays.
fn take_off(target: &Target, one: &list::Attached) -> Result<()> {
    match one.link_id {
        Some(id) => Ok(Link::from_id(id)?.detach()?),
        None => {
            let program = Program::from_id(one.program.id)?;
            let expect = XdpExpect::Program(program.as_fd());
            Ok(Netlink::open()?.set_xdp(target.ifindex, None, Some(one.mode), expect)?)
        }
    }
}
