//! `Talkers`: a sample of the packets that arrive, for as long as `filter top` runs.
//!
//! Rule: nobody is kept waiting. Other rules may come meanwhile, or somebody else who looks at
//! packets; then this one goes on as soon as it can, in front of the rules in force.

use std::fs::File;
use std::time::Duration;

use anyhow::{Result, bail};
use filter::runtime::talkers::{Stretch, Window};
use filter::runtime::trial::Opinion;
use kernel::Program;

use super::change::{Change, TRIAL};
use super::live::none;
use super::watch::{Choice, HEADERS, Look, Pace, Watch};
use crate::args::FilterPlacement;
use crate::cmd::Context;
use crate::state::{Holder, Writer};
use crate::view::filter::talkers::Talking;

#[derive(Debug)]
pub struct Talkers<'a> {
    context: &'a Context,
    interface: &'a str,
    pace: Pace,
    watch: Watch,
    window: Window,
    stretch: Stretch,
    one_in: u32,
    /// Since the rules in force came.
    lost: u64,
}

impl<'a> Talkers<'a> {
    /// Or who else takes samples there, or tries something.
    ///
    /// # Errors
    /// The kernel refuses the program.
    pub fn begin(
        context: &'a Context,
        interface: &'a str,
        asked: Option<u32>,
    ) -> Result<std::result::Result<Self, Holder>> {
        let pace = asked.map_or(Pace::About(PER_SECOND), Pace::OneIn);
        let change = Change::begin(context, interface)?;
        let claim = match change.claim_for(context, "top")? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Err(holder)),
        };
        let _nobody_tries = match change.claim_for(context, TRIAL)? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Err(holder)),
        };
        let watch = begin(&change, pace, claim)?;
        Ok(Ok(Self {
            context,
            interface,
            pace,
            watch,
            window: Window::new(SPAN.as_secs_f64()),
            stretch: Stretch::default(),
            one_in: asked.unwrap_or(1),
            lost: 0,
        }))
    }

    /// Takes in what came. One stretch has one rate.
    pub fn look(&mut self) -> Result<()> {
        let stretch = &mut self.stretch;
        let look = self.watch.look(|seen| {
            let Opinion { verdict, reason, .. } = seen.opinion;
            stretch.add(seen.bytes, (verdict, reason));
        })?;
        let Look { elapsed, met, lost, one_in, next, .. } = look;
        stretch.seconds += elapsed.as_secs_f64();
        stretch.matched += met;
        self.lost += lost;
        self.one_in = next;
        if next != one_in || stretch.seconds >= STRETCH.as_secs_f64() {
            self.window.add(std::mem::take(stretch));
        }
        Ok(())
    }

    /// Other rules came, which this program is not in front of: it is put there, if nobody else is
    /// about to change something or tries something: answers who does that.
    pub fn follow(&mut self, running: &Program) -> Result<Option<Holder>> {
        if running.id() == self.watch.program() || !Writer::is_free(&self.context.state) {
            return Ok(None);
        }
        let change = Change::begin(self.context, self.interface)?;
        let _nobody_tries = match change.claim_for(self.context, TRIAL)? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Some(holder)),
        };
        if self.watch.runs()? {
            return Ok(None);
        }
        let claim = self.watch.claim()?;
        let watch = begin(&change, self.pace, claim)?;
        // What was before ends as one who writes.
        drop(change);
        self.watch = watch;
        (self.lost, self.stretch) = (0, Stretch::default());
        Ok(None)
    }

    pub fn told(&self) -> Talking {
        Talking::new(&self.window, self.one_in, self.lost)
    }
}

fn begin(change: &Change, pace: Pace, claim: File) -> Result<Watch> {
    if change.live.is_none() {
        bail!(none(&change.target.interface));
    }
    let choice = Choice { tests: Vec::new(), pace, bytes: HEADERS };
    Watch::begin(change, &FilterPlacement::default(), &choice, claim)
}

/// Samples a second: enough for a hundredth's part of a second's packets to be within a tenth.
const PER_SECOND: u32 = 10_000;
/// One sampling rate holds no longer.
const STRETCH: Duration = Duration::from_millis(100);
/// That is looked back.
const SPAN: Duration = Duration::from_secs(2);
