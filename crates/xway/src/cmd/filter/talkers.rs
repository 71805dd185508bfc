//! `Talkers`: a sample of the packets that arrive, for as long as `filter top` runs.
//!
//! Rule: nobody is kept waiting. The program that chooses packets is put in force like a change of
//! rules, and the lock is let go; other rules may come meanwhile, and get one in front of them as
//! soon as nobody changes anything. At the end the rules are in force alone. Who is killed leaves
//! the program, which decides by the same rules, until the next change.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use functions::filter::talkers::{Stretch, Window};
use functions::filter::watch::Chosen;
use kernel::Program;
use spec::Spec;

use super::change::Change;
use super::file;
use super::live::{Live, NAME, none};
use super::watch::{Choice, Watch};
use crate::args::FilterPlacement;
use crate::cmd::Context;
use crate::cmd::attach::by_size;
use crate::state::{State, Writer};
use crate::view::filter::talkers::Talking;

#[derive(Debug)]
pub struct Talkers<'a> {
    context: &'a Context,
    interface: &'a str,
    /// Nobody else takes samples here.
    _claim: File,
    /// As it was asked for; `None`: about [`PER_SECOND`].
    asked: Option<u32>,
    one_in: u32,
    window: Window,
    stretch: Stretch,
    began: Instant,
    running: Running,
    read: u64,
}

/// The program that chooses packets.
#[derive(Debug)]
struct Running {
    watch: Watch,
    program: u32,
    chosen: Chosen,
}

impl<'a> Talkers<'a> {
    /// # Errors
    /// Somebody else takes samples there, or the kernel refuses the program.
    pub fn begin(context: &'a Context, interface: &'a str, asked: Option<u32>) -> Result<Self> {
        let change = Change::begin(context, interface)?;
        let netns = sys::netns::NetNs::current()?.id()?;
        let claim = State::claim(&context.state, netns, change.target.ifindex, "top")?;
        let Some(claim) = claim else { bail!("another xway takes samples on {interface}") };
        let one_in = asked.unwrap_or(FIRST);
        let running = Running::begin(&change, interface, one_in)?;
        Ok(Self {
            context,
            interface,
            _claim: claim,
            asked,
            one_in,
            window: Window::new(SPAN.as_secs_f64()),
            stretch: Stretch::default(),
            began: Instant::now(),
            running,
            read: 0,
        })
    }

    /// Takes in what came, now and then with a new rate.
    pub fn look(&mut self) -> Result<()> {
        for sample in self.running.watch.packets() {
            self.read += 1;
            self.stretch.add(&sample.bytes, (sample.verdict, sample.reason));
        }
        let elapsed = self.began.elapsed();
        if elapsed < STRETCH {
            return Ok(());
        }
        let chosen = self.running.watch.chosen()?;
        let mut stretch = std::mem::take(&mut self.stretch);
        stretch.seconds = elapsed.as_secs_f64();
        stretch.matched = chosen.matched - self.running.chosen.matched;
        self.running.chosen = chosen;
        self.began = Instant::now();
        if self.asked.is_none() {
            let wanted = one_in(stretch.matched as f64 / stretch.seconds);
            if wanted != self.one_in {
                self.running.watch.choose(wanted)?;
                self.one_in = wanted;
            }
        }
        self.window.add(stretch);
        Ok(())
    }

    /// Other rules came, which this program is not in front of: it is put there, if nobody else is
    /// about to change something.
    pub fn follow(&mut self, running: &Program) -> Result<()> {
        if running.id() == self.running.program || !Writer::is_free(&self.context.state) {
            return Ok(());
        }
        let change = Change::begin(self.context, self.interface)?;
        self.running = Running::begin(&change, self.interface, self.one_in)?;
        (self.read, self.stretch, self.began) = (0, Stretch::default(), Instant::now());
        Ok(())
    }

    pub fn told(&self) -> Talking {
        let lost = self.running.chosen.chosen.saturating_sub(self.read);
        Talking::new(&self.window, self.one_in, lost)
    }

    /// The rules in force alone again.
    pub fn end(self) -> Result<()> {
        let change = Change::begin(self.context, self.interface)?;
        let Some(live) = &change.live else { return Ok(()) };
        if live.program.id() != self.running.program {
            return Ok(());
        }
        let mut spec = file::compiled(&live.rules()?, live.may_ban()?, &change.target)?.spec;
        spec.maps.extend(live.keeping()?);
        alone(&change, live, &spec)
    }
}

impl Running {
    fn begin(change: &Change, interface: &str, one_in: u32) -> Result<Self> {
        let Some(live) = &change.live else { bail!(none(interface)) };
        let choice = Choice { tests: Vec::new(), one_in };
        let (watch, new) = Watch::begin(change, live, &choice)?;
        new.commit()?;
        let now = Live::find(&change.target.slot, change.target.ifindex)?;
        let now = now.context("the filter went away meanwhile")?;
        Ok(Self { watch, program: now.program.id(), chosen: Chosen::default() })
    }
}

/// Puts a program of the same rules in force, with the same maps.
fn alone(change: &Change, live: &Live, spec: &Spec) -> Result<()> {
    let placement = change.placement(&FilterPlacement::default());
    let names = [functions::filter::PROGRAM, functions::filter::PROGRAM_FRAGS];
    by_size(change.target.has_large_frames(), names, |program| {
        let programs = vec![program.to_owned()];
        let object =
            change.target.load_sharing(spec, programs, placement.mode, live.kept(spec)?)?;
        change.target.install(NAME, &object, program, &placement)?.commit()
    })
}

/// The rate that gives about [`PER_SECOND`] of so many packets a second.
fn one_in(pps: f64) -> u32 {
    ((pps / PER_SECOND).ceil() as u32).max(1)
}

/// Samples a second: enough for a hundredth's part of a second's packets to be within a tenth.
const PER_SECOND: f64 = 10_000.0;
/// Until the rate of packets is known.
const FIRST: u32 = 1000;
/// One sampling rate holds so long.
const STRETCH: Duration = Duration::from_millis(100);
/// That is looked back.
const SPAN: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::one_in;

    #[test]
    fn about_ten_thousand_a_second() {
        for (pps, wanted) in [(0.0, 1), (9_999.0, 1), (10_001.0, 2), (5e6, 500)] {
            assert_eq!(one_in(pps), wanted);
        }
    }
}
