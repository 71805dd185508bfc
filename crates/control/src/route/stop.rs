//! Ends a router on all of its interfaces.

use serde::Serialize;

use super::{NAME, interfaces_of, router};
use crate::chain;
use crate::composition::LoadedChain;
use crate::detach::detach_all;
use crate::error::{FunctionError, Result};
use crate::state::{Scope, Transaction, Writer};
use crate::target::Target;
use crate::{Control, notice::Notice};

/// A router that was stopped.
#[derive(Clone, Debug, Serialize)]
pub struct Stopped {
    /// Names of the interfaces that it ran on.
    pub interfaces: Vec<String>,
}

/// Stops a router on its interfaces. Other members of their chains continue to run.
///
/// # Errors
/// No router runs on an interface, or it runs on further ones too, which would lose their output;
/// the rest of a chain cannot be composed. Then nothing has changed.
pub fn stop(control: &Control, interfaces: &[String]) -> Result<Stopped> {
    let writer = Writer::open(control)?;
    let mut interfaces = interfaces.to_vec();
    interfaces.sort();
    interfaces.dedup();
    let scope = if interfaces.len() > 1 { Scope::Several } else { Scope::One };
    let mut targets: Vec<Target> =
        interfaces.iter().map(|name| Target::with(&writer, name)).collect::<Result<_>>()?;
    targets.iter_mut().for_each(|target| target.scope = scope);
    for target in &targets {
        check(&writer, target, &interfaces)?;
    }
    let (mut alone, mut chains) = (Vec::new(), Vec::new());
    for target in &targets {
        match without_router(target)? {
            Some(rest) => chains.push((target, rest)),
            None => alone.push(target),
        }
    }
    let mut transactions = Vec::new();
    for (target, rest) in chains {
        transactions.push(rest.install()?);
        let (program, interface) = (NAME.to_owned(), target.interface.clone());
        control.notify(&Notice::Detached { program, interface });
    }
    for target in alone {
        detach_all(target, false)?;
    }
    Transaction::commit_all(transactions)?;
    Ok(Stopped { interfaces })
}

/// # Errors
/// No router runs on the interface, or it runs on one that is not named.
fn check(writer: &Writer, target: &Target, named: &[String]) -> Result<()> {
    target.require_confirmed()?;
    let interface = || target.interface.clone();
    let no_router = || FunctionError::NoRouter { interface: interface() };
    let (_, program) = target.running_mode()?.ok_or_else(no_router)?;
    let generations = target.slot.generations_of(program)?;
    if generations.iter().all(|one| one.name() != NAME) {
        return Err(no_router().into());
    }
    // One of an earlier version, whose program had other maps, has no ports to compare.
    let Some((_, tables)) = router(&target.slot, program)? else { return Ok(()) };
    let together = interfaces_of(writer, tables)?;
    match together.iter().find(|name| !named.contains(name)).cloned() {
        Some(omitted) => {
            Err(FunctionError::InterfaceOmitted { interfaces: together, omitted }.into())
        }
        None => Ok(()),
    }
}

/// The other members of the chain that the router is in; `None` if there are none.
fn without_router(target: &Target) -> Result<Option<LoadedChain<'_>>> {
    let Some((_, program)) = target.running_mode()? else { return Ok(None) };
    if target.slot.generations_of(program)?.len() < 2 {
        return Ok(None);
    }
    let mut chain = chain::open(target)?;
    chain.remove(NAME);
    if chain.names().is_empty() { Ok(None) } else { chain.load().map(Some) }
}
