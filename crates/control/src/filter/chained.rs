//! A filter as a member of a chain.
//!
//! Rule: the rules are compiled again for each composition, from the text that is stored with them;
//! all maps continue.

use filter::{Form, PROGRAM, PROGRAM_FRAGS};
use kernel::Mode;
use spec::Spec;

use super::active::{ActiveFilter, NAME};
use crate::composition::Chain;
use crate::composition::link::{self, ChainLink, Code};
use crate::error::{Error, Result};
use crate::member::Member;
use crate::state::Generation;
use crate::target::{Placement, Target};

/// Compiles the rules of a filter that runs, as a member of a chain.
///
/// # Errors
/// Its rules cannot be compiled any more.
pub fn code(target: &Target, generation: &Generation) -> Result<Code> {
    let active = ActiveFilter::find(&target.slot, target.ifindex)?;
    let interface = || target.interface.clone();
    let active = active.ok_or_else(|| Error::NoFilter { interface: interface() })?;
    let mut made = active.compiled(target, Form::Fast)?;
    let program = link::program_of(generation, [PROGRAM, PROGRAM_FRAGS])?;
    if active.rules()?.depends_on_tags(active.mode == Mode::Native) {
        link::ask_for_tags(target, &mut made.spec, program)?;
    }
    Ok(Code { spec: made.spec, program: program.to_owned(), may_count: false })
}

/// The chain of an interface without the code of its filter, which is about to be replaced.
pub fn open(target: &Target) -> Result<Chain<'_>> {
    Chain::open(target, |generation| match generation.name() {
        NAME => {
            let (spec, program) = (Spec::default(), PROGRAM.to_owned());
            Ok(Code { spec, program, may_count: false })
        }
        _ => link::code(target, generation),
    })
}

/// Puts a filter into a chain, in the place of the one that is there.
///
/// # Errors
/// The chain runs in another mode.
pub fn put(chain: &mut Chain<'_>, placement: &Placement, link: Replacement) -> Result<()> {
    chain.set_mode(placement.mode)?;
    chain.set_confirm(placement.confirm);
    let Replacement { spec, program, shared } = link;
    let placed = placement.member(NAME, &program);
    let link = |member| ChainLink { shared, ..ChainLink::new(member, spec) };
    let Ok(known) = chain.link(NAME) else { return chain.insert(link(placed)) };
    let before = known.member.clone();
    let (priority, continue_on) = match placement.place {
        Some(_) => (placed.priority, placed.continue_on),
        None => (before.priority, before.continue_on),
    };
    let moves = priority != before.priority;
    // With a confirmation, the earlier filter may return to its counts.
    let slot = before.slot.filter(|_| placement.confirm.is_none());
    *known = link(Member { program, priority, continue_on, slot, ..before });
    if moves {
        let link = chain.take(NAME)?;
        chain.insert(link)?;
    }
    Ok(())
}

/// A compiled filter with the maps that it takes over.
#[derive(Debug)]
pub struct Replacement {
    pub spec: Spec,
    pub program: String,
    pub shared: Vec<(String, kernel::Map)>,
}
