//! `TopSampler`: a sample of the packets that arrive, for as long as `filter top` runs.
//!
//! Rule: nobody is kept waiting. Other rules may come meanwhile, or somebody else who looks at
//! packets; then this one goes on as soon as it can, in front of the rules in force.

use std::fs::File;
use std::time::Duration;

use filter::runtime::decision::Decision;
use filter::runtime::talkers::{Interval, Talker, Window};
use kernel::Program;
use serde::Serialize;

use super::load::FilterPlacement;
use super::sampler::{HEADERS, PacketSampler, SampleBatch, SampleFilter, SampleRate};
use super::update::{TRIAL, Update};
use crate::Control;
use crate::error::{Error, Result};
use crate::state::{Holder, Writer};

#[derive(Debug)]
pub struct TopSampler<'a> {
    control: &'a Control,
    interface: &'a str,
    pace: SampleRate,
    watch: PacketSampler,
    window: Window,
    interval: Interval,
    one_in: u32,
    /// Since the rules in force came.
    lost: u64,
}

impl<'a> TopSampler<'a> {
    /// Or who else takes samples there, or tries something.
    ///
    /// # Errors
    /// The kernel refuses the program.
    pub fn begin(
        control: &'a Control,
        interface: &'a str,
        asked: Option<u32>,
    ) -> Result<std::result::Result<Self, Holder>> {
        let pace = asked.map_or(SampleRate::About(PER_SECOND), SampleRate::OneIn);
        let update = Update::begin(control, interface)?;
        let claim = match update.claim_for(control, "top")? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Err(holder)),
        };
        let _nobody_tries = match update.claim_for(control, TRIAL)? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Err(holder)),
        };
        let watch = begin(&update, pace, claim)?;
        Ok(Ok(Self {
            control,
            interface,
            pace,
            watch,
            window: Window::new(SPAN.as_secs_f64()),
            interval: Interval::default(),
            one_in: asked.unwrap_or(1),
            lost: 0,
        }))
    }

    /// Takes in what came. One interval has one rate.
    pub fn look(&mut self) -> Result<()> {
        let interval = &mut self.interval;
        let look = self.watch.look(|seen| {
            let Decision { verdict, reason, .. } = seen.decision;
            interval.add(seen.bytes, (verdict, reason));
        })?;
        let SampleBatch { elapsed, met, lost, one_in, next, .. } = look;
        interval.seconds += elapsed.as_secs_f64();
        interval.matched += met;
        self.lost += lost;
        self.one_in = next;
        if next != one_in || interval.seconds >= INTERVAL.as_secs_f64() {
            self.window.add(std::mem::take(interval));
        }
        Ok(())
    }

    /// Other rules came, which this program is not in front of: it is put there, if nobody else is
    /// about to change something or tries something: answers who does that.
    pub fn follow(&mut self, running: &Program) -> Result<Option<Holder>> {
        if running.id() == self.watch.program() || !Writer::is_free(self.control) {
            return Ok(None);
        }
        let update = Update::begin(self.control, self.interface)?;
        let _nobody_tries = match update.claim_for(self.control, TRIAL)? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Some(holder)),
        };
        if self.watch.runs()? {
            return Ok(None);
        }
        let claim = self.watch.claim()?;
        let watch = begin(&update, self.pace, claim)?;
        // What was before ends as one who writes.
        drop(update);
        self.watch = watch;
        (self.lost, self.interval) = (0, Interval::default());
        Ok(None)
    }

    pub fn top(&self) -> TopSenders {
        TopSenders::new(&self.window, self.one_in, self.lost)
    }
}

fn begin(update: &Update, pace: SampleRate, claim: File) -> Result<PacketSampler> {
    if update.active.is_none() {
        return Err(Error::NoFilter { interface: update.target.interface.clone() });
    }
    let choice = SampleFilter { tests: Vec::new(), pace, bytes: HEADERS };
    PacketSampler::begin(update, &FilterPlacement::default(), &choice, claim)
}

/// The busiest senders and ports, estimated from sampled packets.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TopSenders {
    /// Length of the window, in seconds.
    pub window_s: f64,
    pub packets: u64,
    /// Packets of the window that were sampled.
    pub samples: u64,
    /// One of this many packets is sampled now.
    pub one_in: u32,
    /// Sampled packets that were not read in time and lost, since the rules were loaded.
    pub lost: u64,
    /// Sorted by rate, the highest first.
    pub sources: Vec<Sender>,
    pub ports: Vec<Sender>,
}

/// A source address, or a destination port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sender {
    /// The address, or protocol and port such as `udp/53`.
    pub name: String,
    pub pps: f64,
    /// Half of the 95 % confidence interval of the rate; 0 if every packet was sampled.
    pub error_pps: f64,
    pub samples: u64,
    /// The most frequent verdict of its packets.
    pub verdict: &'static str,
    pub reason: Option<&'static str>,
}

impl TopSenders {
    pub fn new(window: &Window, one_in: u32, lost: u64) -> Self {
        Self {
            window_s: window.seconds(),
            packets: window.matched(),
            samples: window.samples(),
            one_in,
            lost,
            sources: window.sources(MOST).into_iter().map(Sender::from).collect(),
            ports: window.ports(MOST).into_iter().map(Sender::from).collect(),
        }
    }
}

impl<K: ToString> From<Talker<K>> for Sender {
    fn from(talker: Talker<K>) -> Self {
        let (verdict, reason) = talker.outcome;
        Self {
            name: talker.key.to_string(),
            pps: talker.pps,
            error_pps: talker.error_pps,
            samples: talker.samples,
            verdict: verdict.name(),
            reason: reason.map(|reason| reason.label()),
        }
    }
}

/// Samples a second: enough for a hundredth's part of a second's packets to be within a tenth.
const PER_SECOND: u32 = 10_000;
/// One sampling rate holds no longer.
const INTERVAL: Duration = Duration::from_millis(100);
/// That is looked back.
const SPAN: Duration = Duration::from_secs(2);
/// Rows of each list.
const MOST: usize = 20;
