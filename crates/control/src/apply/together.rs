//! Changes of several programs of an interface in one step: one composition and one swap.
//!
//! Rule: each packet is decided by the programs of before or by those of after, never by some of
//! each, and an error changes nothing. A router on several interfaces, or a balancer that
//! translates on several, swaps one program on each of them; together they are one transaction,
//! which is on record before the first swap, as is a change of the mode. Not here: changes that end
//! the program of another owner.

use filter::{File, PROGRAM, PROGRAM_FRAGS};

use super::prepared::Request;
use crate::attach::AttachOptions;
use crate::balance::NewBalancer;
use crate::chain;
use crate::composition::{Chain, LoadedChain, link::ChainLink};
use crate::declaration::Program;
use crate::drop::DropRules;
use crate::error::Result;
use crate::filter::ApplyOptions;
use crate::filter::ruleset::{self, Attempt};
use crate::filter::update::{NewFilter, Update};
use crate::filter::{chained, temporary};
use crate::lockout;
use crate::member;
use crate::object::Opened;
use crate::route::NewRouter;
use crate::state::Transaction;
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

/// All changes of one interface, and of those that a program of it runs on as well.
#[derive(Debug)]
pub struct Together<'p> {
    pub parts: Vec<Part<'p>>,
    /// Names of programs that are removed.
    pub removed: Vec<&'p str>,
    /// How the chain is attached.
    pub placement: Placement,
}

/// A member that changes, until the chain is attached.
enum New<'u> {
    Filter(Box<NewFilter<'u>>),
    Drop(DropRules),
    Balancer(Box<NewBalancer<'u>>),
    Router(Box<NewRouter<'u>>),
}

/// The interfaces of a change, and the form in which it is tried.
#[derive(Clone, Copy)]
struct Setting<'u> {
    update: &'u Update,
    /// The interface that is declared, and those that a program of it runs on as well.
    targets: &'u [&'u Target],
    attempt: Attempt,
    /// Whether the programs are for packets of several buffers.
    large: bool,
}

impl Together<'_> {
    /// Makes the changes. The first of the interfaces is the one that is declared.
    ///
    /// # Errors
    /// A program cannot be made, or not composed with the others. Then nothing has changed.
    pub fn apply(&self, control: &Control, interfaces: &[String]) -> Result<()> {
        let mut update = Update::begin(control, &interfaces[0])?;
        let mut further: Vec<String> = Vec::new();
        if let Some(part) = self.parts.iter().find(|part| part.program.spans()) {
            further.extend(part.program.interfaces(&interfaces[0]).into_iter().skip(1));
        }
        let others = update.with_others(&further)?;
        let update = &update;
        let targets: Vec<&Target> = std::iter::once(update.target()).chain(&others).collect();
        let large = targets.iter().any(|target| target.has_large_frames());
        ruleset::by_form(|attempt| {
            by_frame_size(large, [PROGRAM, PROGRAM_FRAGS], |program| {
                let large = program == PROGRAM_FRAGS;
                self.make(Setting { update, targets: &targets, attempt, large })
            })
        })
    }

    /// Composes all programs with this form of the filter, and replaces what runs.
    fn make(&self, setting: Setting<'_>) -> Result<()> {
        let target = setting.targets[0];
        let mut chain = match self.parts.iter().any(Part::is_new_filter) {
            true => chained::open(target)?,
            false => chain::open(target)?,
        };
        chain.switch_mode(self.placement.mode);
        chain.set_confirm(self.placement.confirm);
        for name in &self.removed {
            chain.take(name)?;
        }
        let mut new = Vec::new();
        for part in &self.parts {
            new.extend(part.put(&mut chain, setting)?);
        }
        self.attach(chain.load()?, &mut new, setting.targets)?;
        new.into_iter().for_each(New::keep);
        Ok(())
    }

    /// Fills the maps of the loaded chain, and attaches it, with the programs of all other
    /// interfaces: all or none.
    fn attach(
        &self,
        loaded: LoadedChain<'_>,
        new: &mut [New<'_>],
        targets: &[&Target],
    ) -> Result<()> {
        let (mut routers, mut balancers) = (Vec::new(), Vec::new());
        for one in new.iter_mut() {
            match one {
                New::Filter(filter) => filter.fill(&loaded)?,
                New::Drop(rules) => rules.fill(&loaded)?,
                New::Balancer(balancer) => {
                    balancer.fill(&loaded)?;
                    balancers = balancer.load_others(&loaded)?;
                }
                New::Router(router) => routers = router.load_others(&loaded)?,
            }
        }
        let moved = self.moved(&targets[1..])?;
        let mut transactions = vec![loaded.install()?];
        for one in new.iter_mut() {
            match one {
                New::Router(router) => {
                    transactions.extend(router.install_others(std::mem::take(&mut routers))?);
                }
                New::Balancer(balancer) => {
                    transactions.extend(balancer.install_others(std::mem::take(&mut balancers))?);
                }
                New::Filter(_) | New::Drop(_) => {}
            }
        }
        for chain in moved {
            transactions.push(chain.install()?);
        }
        Transaction::commit_all(transactions)?;
        let mut balancers = new.iter().filter_map(|one| match one {
            New::Balancer(balancer) => Some(balancer),
            _ => None,
        });
        balancers.try_for_each(|one| one.record())
    }

    /// The chains of other interfaces in which a program moves to its place.
    fn moved<'t>(&self, others: &[&'t Target]) -> Result<Vec<LoadedChain<'t>>> {
        let mut spanning = self.parts.iter().filter(|part| part.program.spans());
        let Some(part) = spanning.find(|part| part.only_moves) else { return Ok(Vec::new()) };
        let moved = others.iter().map(|target| {
            let mut chain = chain::open(target)?;
            chain.set_confirm(self.placement.confirm);
            part.put_in_place(&mut chain)?;
            chain.load()
        });
        moved.collect()
    }
}

impl New<'_> {
    /// Completes the change, after the program was attached.
    fn keep(self) {
        match self {
            Self::Filter(new) => new.keep(),
            Self::Drop(_) | Self::Balancer(_) => {}
            Self::Router(router) => router.keep(),
        }
    }
}

impl Part<'_> {
    fn is_new_filter(&self) -> bool {
        !self.only_moves && matches!(self.request, Request::Filter(..))
    }

    /// Moves a member to the place that is declared.
    fn put_in_place(&self, chain: &mut Chain<'_>) -> Result<()> {
        let mut link = chain.take(self.program.name())?;
        link.member.priority = self.program.priority();
        let continue_on = self.program.place.continue_on.unwrap_or_default();
        link.member.continue_on = member::names(continue_on);
        chain.insert(link)
    }

    /// Puts the program into the chain.
    fn put<'u>(&'u self, chain: &mut Chain<'_>, setting: Setting<'u>) -> Result<Option<New<'u>>> {
        let Setting { update, targets, attempt, large } = setting;
        let target = targets[0];
        if self.only_moves {
            return self.put_in_place(chain).map(|()| None);
        }
        Ok(match &self.request {
            Request::Filter(file, asked) => {
                let new = filter(update, file, asked, attempt)?;
                new.put(chain, if large { PROGRAM_FRAGS } else { PROGRAM })?;
                Some(New::Filter(Box::new(new)))
            }
            Request::Drop(asked) => Some(New::Drop(DropRules::put(chain, target, (asked, large))?)),
            Request::Balance(asked) => {
                let balancer = NewBalancer::put(chain, targets, (asked, large))?;
                Some(New::Balancer(Box::new(balancer)))
            }
            Request::Object(opened, asked) => {
                object(chain, target, opened, asked)?;
                None
            }
            Request::Forward(asked) => {
                let router = NewRouter::put(chain, targets, (asked, large))?;
                Some(New::Router(Box::new(router)))
            }
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
