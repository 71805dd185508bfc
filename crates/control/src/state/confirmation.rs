//! Changes that must be confirmed: until then, the program that ran before remains pinned, and runs
//! again when the time is over.
//!
//! Rule: the deadline is in a map of the running program, which itself runs the previous program
//! afterwards. Hence no process is needed for the return; the next one that changes or reads the
//! state attaches the previous program itself. A confirmation takes effect with one update of the
//! link.

use std::time::Duration;

use kernel::{Attach, Mode, Replace};
use sys::net::Ifindex;

use super::trial::Successor;
use super::{Generation, Slot};
use crate::error::Result;

impl Slot {
    /// The generation of a program that runs only until a deadline, unless the change is confirmed,
    /// and the time that is left.
    pub fn unconfirmed(&self, program: u32) -> Result<Option<(Generation, Duration)>> {
        let Some(generation) = self.generation_of(program)? else { return Ok(None) };
        let confirmed = generation.confirmed()?;
        if confirmed.is_none_or(|one| one.id() == program) {
            return Ok(None);
        }
        Ok(generation.time_left()?.map(|left| (generation, left)))
    }

    /// Lets the program of an unconfirmed change run without a deadline.
    pub fn confirm(&self, ifindex: Ifindex, mode: Mode, program: u32) -> Result<()> {
        let Some((generation, _)) = self.unconfirmed(program)? else { return Ok(()) };
        let Some(confirmed) = generation.confirmed()? else { return Ok(()) };
        let attach = Attach { ifindex, program: &confirmed, mode, replace: Replace::Yes };
        self.keep(self.attach(&attach, Some(program), false)?)?;
        self.sweep_but(&[confirmed.id()])
    }

    /// Lets the program that ran before an unconfirmed change run again.
    pub fn revert(&self, ifindex: Ifindex, mode: Mode, program: u32) -> Result<()> {
        let Some((generation, _)) = self.unconfirmed(program)? else { return Ok(()) };
        let before = generation.before()?.map_or(Successor::Nothing, Successor::Program);
        match self.succeed(ifindex, (mode, program), before)? {
            Some(before) => self.sweep_but(&[before]),
            None => self.clear(),
        }
    }

    /// Completes the confirmation of a generation that runs as its confirmed program.
    pub(super) fn complete(&self, generation: &Generation, running: u32) -> Result<()> {
        match generation.confirmed()? {
            Some(confirmed) if confirmed.id() == running => generation.complete(),
            _ => Ok(()),
        }
    }
}
