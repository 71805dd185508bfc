//! A trial: a program temporarily replaces another one, which remains pinned beside it.
//!
//! Rule: the process that runs a trial holds a lock of this trial and not the writers' lock. Other
//! processes may change the program meanwhile; then the trial restores nothing. If the process is
//! killed, its lock is released, so the next process that reads or changes the state restores the
//! previous program. A trial may run above another trial.

use std::fs::{File, TryLockError};
use std::io;
use std::time::Duration;

use kernel::{Attach, Mode, Object, Program, Replace};
use sys::net::{Ifindex, Netlink};

use super::generation::{Companions, Pins};
use super::{Generation, Scope, Slot, Transaction, Writer, root};
use crate::error::{Context as _, Result};
use crate::notice::Notice;

/// What runs after an abandoned trial or an unconfirmed change.
#[derive(Debug)]
pub(super) enum Successor {
    Program(Program),
    Nothing,
}

/// A running trial. Dropping it restores the previous program, unless another process changed the
/// program meanwhile. A holder of the writers' lock must release the lock first.
#[derive(Debug)]
pub struct Trial {
    slot: Slot,
    ifindex: Ifindex,
    program: u32,
    /// Name of its lock's file.
    file: String,
    change: Option<Transaction>,
    lock: Option<File>,
}

impl Slot {
    /// Attaches a program as [`Slot::change`] does, above the running program `before`. Without a
    /// running program, the new one ends with this process.
    pub fn try_out(
        &self,
        name: &str,
        object: &Object,
        attach: &Attach<'_>,
        before: Option<&Program>,
    ) -> Result<Trial> {
        self.try_out_chain(vec![Pins::of(name, object)], attach, before)
    }

    /// Attaches a program that consists of several, as [`try_out`](Self::try_out) does, with a
    /// generation for each of them. The first one's lock stands for all.
    pub fn try_out_chain(
        &self,
        members: Vec<Pins<'_>>,
        attach: &Attach<'_>,
        before: Option<&Program>,
    ) -> Result<Trial> {
        let pins = self.numbered_pins(members)?;
        let file = self.trial(pins[0].0.number());
        let lock = self.lock(&file)?;
        let companions = Companions { before, confirmed: None };
        let change = Transaction::make(self, &pins, attach, (companions, Scope::One))?;
        Ok(Trial {
            slot: self.clone(),
            ifindex: attach.ifindex,
            program: attach.program.id(),
            file,
            change: Some(change),
            lock: Some(lock),
        })
    }

    /// Restores the programs that ran before trials whose processes were killed, and before changes
    /// that were not confirmed in time. Returns the programs that run afterwards; a program whose
    /// predecessor cannot be restored continues.
    pub(super) fn end_abandoned(
        &self,
        ifindex: Ifindex,
        running: &[(Mode, u32)],
    ) -> Result<Vec<u32>> {
        let mut now = Vec::new();
        for (mode, program) in running {
            let Some(successor) = self.successor(*program)? else {
                now.push(*program);
                continue;
            };
            let unconfirmed = self.generation_of(*program)?;
            let unconfirmed = unconfirmed.filter(|one| matches!(one.confirmed(), Ok(Some(_))));
            let names = self.names_of(*program)?;
            match self.succeed(ifindex, (*mode, *program), successor) {
                Ok(program) => {
                    now.extend(program);
                    if unconfirmed.is_some() {
                        let interface = Netlink::open()?.link_by_index(ifindex)?.name;
                        self.notify(&Notice::Unconfirmed { interface, program: names });
                    }
                }
                Err(_) => now.push(*program),
            }
        }
        Ok(now)
    }

    /// Attaches what runs after this program, and returns its id.
    pub(super) fn succeed(
        &self,
        ifindex: Ifindex,
        (mode, program): (Mode, u32),
        successor: Successor,
    ) -> Result<Option<u32>> {
        match successor {
            Successor::Nothing => self.detach(ifindex, program, mode).map(|()| None),
            Successor::Program(before) => {
                let attach = Attach { ifindex, program: &before, mode, replace: Replace::Yes };
                self.keep(self.attach(&attach, Some(program), false)?)?;
                Ok(Some(before.id()))
            }
        }
    }

    /// What to run after this program, if it belongs to a trial whose process was killed or to a
    /// change that was not confirmed in time; `None` if the program continues.
    pub(super) fn successor(&self, program: u32) -> Result<Option<Successor>> {
        let generations = self.generations_of(program)?;
        if generations.iter().any(|one| self.is_tried(one)) {
            return Ok(None);
        }
        let Some(generation) = generations.first() else { return Ok(None) };
        if generation.confirmed()?.is_some_and(|one| one.id() == program) {
            return Ok(None);
        }
        match (generation.time_left()?, generation.before()?) {
            (Some(Duration::ZERO), None) => Ok(Some(Successor::Nothing)),
            (None | Some(Duration::ZERO), Some(before)) => {
                Ok(self.successor(before.id())?.or(Some(Successor::Program(before))))
            }
            _ => Ok(None),
        }
    }

    /// Whether a program runs for the duration of a trial.
    pub fn is_trial(&self, program: u32) -> Result<bool> {
        Ok(self.generations_of(program)?.iter().any(|one| self.is_tried(one)))
    }

    pub(super) fn is_tried(&self, generation: &Generation) -> bool {
        let dir = root::find(self.root());
        let name = self.trial(generation.number());
        let lock = dir.and_then(|dir| dir.map_or(Ok(None), |dir| root::existing_lock(&dir, name)));
        match lock {
            Ok(lock) => lock.is_some_and(|lock| is_held(&lock)),
            // A trial that runs must not be ended because its lock cannot be opened.
            Err(_) => true,
        }
    }

    fn lock(&self, name: &str) -> Result<File> {
        let file = root::lock_file(&root::open(self.root())?, name)?;
        file.try_lock()
            .map_err(io::Error::from)
            .with_context(|| format!("cannot lock {}", self.root().join(name).display()))?;
        Ok(file)
    }
}

fn is_held(lock: &File) -> bool {
    matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
}

impl Trial {
    /// Whether the trial's program still runs; `false` if the interface no longer exists.
    pub fn runs(&self) -> Result<bool> {
        let link = Netlink::open()?.link_by_index(self.ifindex);
        Ok(link.is_ok_and(|link| link.xdp.programs().any(|(_, id)| id == self.program)))
    }

    /// Id of the trial's program.
    pub fn program(&self) -> u32 {
        self.program
    }
}

impl Drop for Trial {
    /// Errors cannot be reported here: the next writer restores the previous program. If another
    /// trial runs above this one, the end of that trial does so.
    fn drop(&mut self) {
        let Some(change) = self.change.take() else { return };
        let Ok(writer) = Writer::open(self.slot.control()) else { return change.leave() };
        if self.runs().unwrap_or(false) {
            drop(change);
        } else {
            change.leave();
        }
        drop(self.lock.take());
        let _ = root::find(self.slot.root())
            .map(|dir| dir.map_or(Ok(()), |dir| dir.remove_file(&self.file)));
        let _ = writer.sweep();
    }
}
