//! `Transaction`: a program that is attached but not yet kept. Dropping it restores the program
//! that ran before.
//!
//! Rule: the kernel replaces a program with another of the same mode in one atomic step. Native and
//! generic mode exclude each other, and several interfaces are changed one after the other: these
//! changes are on record (`journal`) from before their first step until they are complete.

use std::fs;

use kernel::{Attach, Link, Mode, Object, Program, Replace};
use sys::errno::ENODEV;
use sys::net::{Ifindex, Netlink};

use super::generation::{Companions, Generation, Pins};
use super::journal::{Running, Step};
use super::{Slot, remove};
use crate::error::{Context as _, Malformed, Result};
use crate::notice::Notice;

/// Number of interfaces that a change affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    One,
    /// All of them change, or none does.
    Several,
}

/// A change of one interface until it is committed. Dropping it restores the program that ran
/// before.
#[derive(Debug)]
pub struct Transaction {
    slot: Slot,
    ifindex: Ifindex,
    program: u32,
    link: Option<Link>,
    /// One for each member of a chain.
    generations: Vec<Generation>,
    /// The recorded step, if the change has more than one.
    step: Option<Step>,
}

impl Slot {
    /// Attaches a program: creates a new generation beside the old one, then updates the link
    /// atomically. Nothing is kept before [`Transaction::commit`]; dropping the transaction
    /// restores the old state.
    pub fn change(
        &self,
        name: &str,
        object: &Object,
        attach: &Attach<'_>,
        (companions, scope): (Companions<'_>, Scope),
    ) -> Result<Transaction> {
        let next = self.next(name)?;
        let pins = [(next, Pins::of(name, object))];
        Transaction::make(self, &pins, attach, (companions, scope))
    }

    /// Attaches a program that consists of several, as [`change`](Self::change) does, with a
    /// generation for each of them.
    pub fn change_chain(
        &self,
        members: Vec<Pins<'_>>,
        attach: &Attach<'_>,
        (companions, scope): (Companions<'_>, Scope),
    ) -> Result<Transaction> {
        let pins = self.numbered_pins(members)?;
        Transaction::make(self, &pins, attach, (companions, scope))
    }

    /// A new generation for each member.
    pub(super) fn numbered_pins<'p>(
        &self,
        members: Vec<Pins<'p>>,
    ) -> Result<Vec<(Generation, Pins<'p>)>> {
        let first = self.next("")?.number();
        let numbered = members.into_iter().zip(first..);
        Ok(numbered.map(|(pins, number)| (self.numbered(&pins.name, number), pins)).collect())
    }
}

impl Transaction {
    /// Attaches the program of a new generation.
    pub(super) fn make(
        slot: &Slot,
        next: &[(Generation, Pins<'_>)],
        attach: &Attach<'_>,
        (companions, scope): (Companions<'_>, Scope),
    ) -> Result<Self> {
        slot.make_folder()?;
        let old = running(attach)?;
        let (slot, ifindex, program) = (slot.clone(), attach.ifindex, attach.program.id());
        let (link, generations, step) = (None, Vec::new(), None);
        let mut transaction = Self { slot, ifindex, program, link, generations, step };
        for (generation, pins) in next {
            let made = generation.create(pins, attach.program, companions)?;
            transaction.generations.push(made);
        }
        let is_switch = old.is_some_and(|old| old.mode != attach.mode);
        let is_allowed = old.is_none() || attach.replace != Replace::No;
        if is_allowed && (is_switch || scope == Scope::Several) {
            transaction.record(&next[0].0, attach, old)?;
        }
        transaction.link = Some(transaction.slot.attach(
            attach,
            old.map(|old| old.program),
            transaction.step.is_some(),
        )?);
        Ok(transaction)
    }

    fn record(
        &mut self,
        next: &Generation,
        attach: &Attach<'_>,
        old: Option<Running>,
    ) -> Result<()> {
        if let Some(old) = old
            && self.slot.generation_of(old.program)?.is_none()
        {
            let pin = self.slot.replaced();
            remove(&pin, |path| fs::remove_file(path))?;
            Program::from_id(old.program)?.pin(&pin)?;
        }
        let step = Step {
            ifindex: attach.ifindex.0,
            generation: next.folder_name().to_owned(),
            new: Running { program: attach.program.id(), mode: attach.mode },
            old,
        };
        self.slot.journal().begin(&step)?;
        self.step = Some(step);
        Ok(())
    }

    /// Keeps the new program and removes the old generation.
    pub fn commit(self) -> Result<()> {
        Self::commit_all(vec![self])
    }

    /// Commits changes of interfaces of one namespace: all of them, or none if one fails.
    pub fn commit_all(mut transactions: Vec<Self>) -> Result<()> {
        for one in &mut transactions {
            if let Some(link) = one.link.take() {
                one.slot.keep(link)?;
            }
        }
        if let Some(first) = transactions.first() {
            let all: Vec<_> = transactions.iter().map(|one| one.ifindex).collect();
            let ended = first.slot.journal().end(&all);
            // A change of one step was complete when its link was kept. A record of an earlier
            // change does not describe the running program, and the next writer removes it.
            if transactions.iter().any(|one| one.step.is_some()) {
                ended?;
            }
        }
        // From here on, errors do not restore the previous programs.
        let kept = transactions.iter_mut().map(|one| {
            one.step = None;
            one.generations.clear();
            (one.slot.clone(), one.program)
        });
        let kept: Vec<_> = kept.collect();
        let swept = kept.iter().map(|(slot, program)| slot.keep_only(Some(*program)));
        swept.collect::<Vec<_>>().into_iter().collect()
    }

    /// Whether the interface runs the new program; `true` if the kernel cannot be queried.
    fn still_runs(&self) -> bool {
        let running = programs(self.ifindex).map(Option::unwrap_or_default);
        running.map_or(true, |all| all.iter().any(|one| one.program == self.program))
    }

    /// Ends the transaction without restoring the previous program.
    pub(super) fn leave(mut self) {
        if let Some(link) = self.link.take() {
            // Keeping fails only for links that this process created, and this one existed before.
            let _ = link.keep();
        }
        if self.step.take().is_some() {
            let _ = self.slot.journal().end(&[self.ifindex]);
        }
        self.generations.clear();
    }
}

impl Drop for Transaction {
    /// The link's guard restores the previous program; then no interface runs the new generation.
    /// Errors cannot be reported here: the next writer repeats a step that remains on record, and
    /// removes pins that are left. If the kernel refused to restore the old program, the new
    /// generation still runs and keeps its pins: without them neither program could be found again.
    fn drop(&mut self) {
        drop(self.link.take());
        let _ = self.slot.forget_detached();
        if let Some(step) = self.step.take()
            && self.slot.undo(&step).is_err()
        {
            return;
        }
        let generations = std::mem::take(&mut self.generations);
        if !generations.is_empty() && !self.still_runs() {
            for generation in generations {
                let _ = generation.remove();
            }
            self.slot.prune();
        }
    }
}

impl Slot {
    /// Restores the program that ran before an incomplete change, and removes the record. If the
    /// kernel refuses the old program, the new one runs.
    ///
    /// # Errors
    /// Neither could be attached: the step remains on record.
    pub(super) fn undo(&self, step: &Step) -> Result<()> {
        let ifindex = Ifindex(step.ifindex);
        if let Some(running) = programs(ifindex)? {
            self.restore(ifindex, step, &running)?;
        }
        self.forget_detached()?;
        self.journal().end(&[ifindex])?;
        remove(&self.replaced(), |path| fs::remove_file(path))
    }

    fn restore(&self, ifindex: Ifindex, step: &Step, running: &[Running]) -> Result<()> {
        let modes = [Some(step.new.mode), step.old.map(|old| old.mode)];
        let here: Vec<_> = running.iter().filter(|one| modes.contains(&Some(one.mode))).collect();
        let is_new = here == [&step.new];
        match step.old {
            Some(old) if here == [&old] => Ok(()),
            _ if !is_new && !here.is_empty() => Ok(()),
            None if is_new => self.detach(ifindex, step.new.program, step.new.mode),
            None => Ok(()),
            Some(old) => {
                self.restore_program(ifindex, old, is_new.then_some(step.new)).or_else(|error| {
                    self.finish(ifindex, step).map_err(|_| error).with_context(|| {
                    format!(
                        "interface {} may run no program: the one that ran before an interrupted \
                         change, {}, cannot be attached again",
                        ifindex.0, old.program
                    )
                })
                })
            }
        }
    }

    /// Attaches the old program as before: with a link if it has a generation in this slot, without
    /// one if it belongs to another owner, so that this owner can replace it.
    fn restore_program(&self, ifindex: Ifindex, old: Running, new: Option<Running>) -> Result<()> {
        let unpinned = || Malformed::Unpinned { program: old.program.to_string() };
        let program = self.program(old.program)?.ok_or_else(unpinned)?;
        if self.generation_of(old.program)?.is_some() {
            let (mode, replace) = (old.mode, Replace::Yes);
            let attach = Attach { ifindex, program: &program, mode, replace };
            let link = self.attach(&attach, new.map(|new| new.program), true)?;
            return self.keep(link);
        }
        if let Some(new) = new {
            self.detach(ifindex, new.program, new.mode)?;
        }
        Ok(kernel::restore(ifindex, &program, old.mode)?)
    }

    fn finish(&self, ifindex: Ifindex, step: &Step) -> Result<()> {
        let generation = self.generation(&step.generation);
        let unpinned = || Malformed::Unpinned { program: step.generation.clone() };
        let program = generation.program()?.ok_or_else(unpinned)?;
        let running = programs(ifindex)?.unwrap_or_default();
        if running.contains(&step.new) {
            return Ok(());
        }
        let attach =
            Attach { ifindex, program: &program, mode: step.new.mode, replace: Replace::No };
        self.keep(self.attach(&attach, None, true)?)?;
        self.notify(&Notice::Completed { ifindex: ifindex.0 });
        Ok(())
    }
}

/// The program that the new one replaces: that of the same mode, or else of another mode.
fn running(attach: &Attach<'_>) -> Result<Option<Running>> {
    let all = programs(attach.ifindex)?.unwrap_or_default();
    let same = all.iter().find(|one| one.mode == attach.mode).copied();
    Ok(same.or_else(|| all.first().copied()))
}

/// Programs of an interface; `None` if it does not exist.
fn programs(ifindex: Ifindex) -> Result<Option<Vec<Running>>> {
    let link = match Netlink::open()?.link_by_index(ifindex) {
        Err(error) if error.is(ENODEV) => return Ok(None),
        other => other?,
    };
    let running = |(mode, program): (Mode, u32)| Running { program, mode };
    Ok(Some(link.xdp.programs().map(running).collect()))
}
