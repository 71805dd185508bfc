//! A filter as a member of a chain.
//!
//! Rule: the rules are compiled again for each composition, from the text that is stored with them;
//! all maps continue.

use filter::{Form, PROGRAM, PROGRAM_FRAGS};
use kernel::Mode;
use spec::Spec;
use spec::compose::VerdictSet;

use super::active::{ActiveFilter, NAME};
use super::ruleset;
use crate::composition::Chain;
use crate::composition::link::{self, ChainLink, Code};
use crate::error::Result;
use crate::member::{self, Member, default_priority};
use crate::state::Generation;
use crate::target::Target;

/// Compiles the rules of a filter that runs, as a member of a chain.
///
/// # Errors
/// Its rules cannot be compiled any more.
pub fn code(target: &Target, generation: &Generation) -> Result<Code> {
    let active = ActiveFilter::at(generation, &target.slot);
    let rules = active.rules()?;
    let mut made = ruleset::compiled(&rules, active.may_ban()?, target, Form::Fast)?;
    active.globals()?.set(&mut made.spec)?;
    let program = link::program_of(generation, [PROGRAM, PROGRAM_FRAGS])?;
    if rules.depends_on_tags(target.running(Mode::Native)?.is_some()) {
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
pub fn put(chain: &mut Chain<'_>, mode: Mode, link: Replacement) -> Result<()> {
    chain.set_mode(mode)?;
    let place = chain.find(NAME).map(|known| known.member.clone());
    if place.is_some() {
        chain.take(NAME)?;
    }
    let member = place.unwrap_or_else(|| Member {
        name: NAME.to_owned(),
        program: String::new(),
        priority: default_priority(NAME),
        continue_on: member::names(VerdictSet::default()),
        counter: None,
        members: 0,
    });
    let Replacement { spec, program, shared } = link;
    let member = Member { program, ..member };
    chain.insert(ChainLink { member, spec, generation: None, beside: Vec::new(), shared })
}

/// A compiled filter with the maps that it takes over.
#[derive(Debug)]
pub struct Replacement {
    pub spec: Spec,
    pub program: String,
    pub shared: Vec<(String, kernel::Map)>,
}
