//! Changes of several programs of an interface in one step: one composition and one swap.
//!
//! Rule: each packet is decided by the programs of before or by those of after, never by some of
//! each, and an error changes nothing. Not here: programs that run on several interfaces, and
//! changes of the mode, which take several steps.

use filter::{File, PROGRAM, PROGRAM_FRAGS};

use super::prepared::Request;
use crate::attach::AttachOptions;
use crate::chain;
use crate::composition::{Chain, link::ChainLink};
use crate::declaration::{Kind, Program};
use crate::drop::DropRules;
use crate::error::Result;
use crate::filter::ApplyOptions;
use crate::filter::ruleset::{self, Attempt};
use crate::filter::update::{NewFilter, Update};
use crate::filter::{chained, temporary};
use crate::lockout;
use crate::member;
use crate::object::Opened;
use crate::target::{Target, by_frame_size};
use crate::{Control, Placement};

/// A program that changes, with the request as it is placed.
#[derive(Debug)]
pub struct Part<'p> {
    pub program: &'p Program,
    pub request: Request,
    /// It moves to its place, and does not change otherwise.
    pub only_moves: bool,
}

/// All changes of one interface.
#[derive(Debug)]
pub struct Together<'p> {
    pub parts: Vec<Part<'p>>,
    /// Names of programs that are removed.
    pub removed: Vec<&'p str>,
    /// How the chain is attached.
    pub placement: Placement,
}

/// What fills the maps of a member.
enum Contents<'u> {
    Filter(Box<NewFilter<'u>>),
    Drop(DropRules),
}

impl Together<'_> {
    /// Makes the changes.
    ///
    /// # Errors
    /// A program cannot be made, or not composed with the others. Then nothing has changed.
    pub fn apply(&self, control: &Control, interface: &str) -> Result<()> {
        let update = Update::begin(control, interface)?;
        let large = update.target().has_large_frames();
        ruleset::by_form(|attempt| {
            by_frame_size(large, [PROGRAM, PROGRAM_FRAGS], |program| {
                self.make(&update, attempt, program)
            })
        })
    }

    /// Composes all programs with this form of the filter, and replaces what runs.
    fn make(&self, update: &Update, attempt: Attempt, program: &str) -> Result<()> {
        let target = update.target();
        let mut chain = match self.parts.iter().any(Part::is_new_filter) {
            true => chained::open(target)?,
            false => chain::open(target)?,
        };
        for name in &self.removed {
            chain.take(name)?;
        }
        let mut contents = Vec::new();
        for part in &self.parts {
            contents.extend(part.put(&mut chain, update, attempt, program)?);
        }
        chain.set_mode(self.placement.mode)?;
        chain.set_confirm(self.placement.confirm);
        let loaded = chain.load()?;
        for one in &contents {
            match one {
                Contents::Filter(new) => new.fill(&loaded)?,
                Contents::Drop(rules) => rules.fill(&loaded)?,
            }
        }
        loaded.commit()?;
        for one in contents {
            if let Contents::Filter(new) = one {
                new.keep();
            }
        }
        Ok(())
    }
}

impl Part<'_> {
    /// Whether the program can change together with others: it runs on no other interface, or its
    /// work does not change.
    pub fn is_possible(&self) -> bool {
        self.only_moves || !matches!(self.program.kind, Kind::Forward(_))
    }

    fn is_new_filter(&self) -> bool {
        !self.only_moves && matches!(self.request, Request::Filter(..))
    }

    /// Puts the program into the chain.
    fn put<'u>(
        &self,
        chain: &mut Chain<'_>,
        update: &'u Update,
        attempt: Attempt,
        program: &str,
    ) -> Result<Option<Contents<'u>>> {
        if self.only_moves {
            let mut link = chain.take(self.program.name())?;
            link.member.priority = self.program.priority();
            let continue_on = self.program.place.continue_on.unwrap_or_default();
            link.member.continue_on = member::names(continue_on);
            return chain.insert(link).map(|()| None);
        }
        Ok(match &self.request {
            Request::Filter(file, asked) => {
                let new = filter(update, file, asked, attempt)?;
                new.put(chain, program)?;
                Some(Contents::Filter(Box::new(new)))
            }
            Request::Drop(asked) => {
                let large = program == PROGRAM_FRAGS;
                let rules = DropRules::put(chain, update.target(), (asked, large))?;
                Some(Contents::Drop(rules))
            }
            Request::Object(opened, asked) => {
                object(chain, update.target(), opened, asked)?;
                None
            }
            // Not possible, see `is_possible`.
            Request::Forward(_) => None,
        })
    }
}

fn filter<'u>(
    update: &'u Update,
    file: &File,
    asked: &ApplyOptions,
    attempt: Attempt,
) -> Result<NewFilter<'u>> {
    let (mut file, mut asked) = (file.clone(), asked.clone());
    asked.temporary = temporary::keep(update.active(), &mut file)?;
    let (target, lockout) = (update.target(), update.placement(&asked.placement).lockout());
    lockout::check_rules(target.slot.control(), &file.ruleset, target.place(), lockout)?;
    update.prepare(&file, &asked, attempt)
}

fn object(
    chain: &mut Chain<'_>,
    target: &Target,
    opened: &Opened,
    options: &AttachOptions,
) -> Result<()> {
    let mut opened = opened.clone();
    opened.set(&options.placement.set)?;
    let program = opened.choose(options.program.as_deref())?.name.clone();
    let (control, lockout) = (target.slot.control(), options.placement.lockout());
    lockout::check_program(control, (&opened.spec, &program), target.place(), lockout, |_| {})?;
    let member = options.placement.member(&opened.name, &program);
    let record = options.record(&opened.source);
    chain.place(&options.placement, ChainLink::added(member, opened, &record))
}
