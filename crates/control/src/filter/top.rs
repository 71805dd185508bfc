//! `TopSampler`: samples arriving packets to estimate the busiest senders.
//!
//! Rule: it delays no other process. If other rules are loaded, or another sampler begins, it
//! continues before the active rules as soon as that is possible.

use std::fs::File;
use std::time::Duration;

use filter::runtime::decision::Decision;
use filter::runtime::talkers::{Interval, Talker, Window};
use serde::Serialize;

use super::load::FilterPlacement;
use super::sampler::{HEADERS, PacketSampler, SampleBatch, SampleFilter, SampleRate};
use super::update::{TRIAL, Update};
use crate::Control;
use crate::error::{Holder, Result};
use crate::state::Writer;

/// A sampler that continues when other rules are loaded.
#[derive(Debug)]
pub struct TopSampler<'a> {
    control: &'a Control,
    interface: &'a str,
    rate: SampleRate,
    sampler: PacketSampler,
    window: Window,
    interval: Interval,
    one_in: u32,
    /// Samples lost since the active rules were loaded.
    lost: u64,
}

impl<'a> TopSampler<'a> {
    /// Starts sampling, one of `asked` packets or, if that is `None`, at an automatic rate. Returns
    /// the holder if another process samples packets or runs a trial on the interface.
    ///
    /// # Errors
    /// No filter runs on the interface, or the kernel refuses the program.
    pub fn begin(
        control: &'a Control,
        interface: &'a str,
        asked: Option<u32>,
    ) -> Result<std::result::Result<Self, Holder>> {
        let rate = asked.map_or(SampleRate::About(PER_SECOND), SampleRate::OneIn);
        let update = Update::begin(control, interface)?;
        let claim = match update.claim_for(control, "top")? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Err(holder)),
        };
        let _no_trial = match update.claim_for(control, TRIAL)? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Err(holder)),
        };
        let sampler = begin(&update, rate, claim)?;
        Ok(Ok(Self {
            control,
            interface,
            rate,
            sampler,
            window: Window::new(SPAN.as_secs_f64()),
            interval: Interval::default(),
            one_in: asked.unwrap_or(1),
            lost: 0,
        }))
    }

    /// Reads the samples since the previous call. All samples of an interval have one rate.
    pub fn read(&mut self) -> Result<()> {
        let interval = &mut self.interval;
        let batch = self.sampler.read(|seen| {
            let Decision { verdict, reason, .. } = seen.decision;
            interval.add(seen.bytes, (verdict, reason));
        })?;
        let SampleBatch { elapsed, met, lost, one_in, next, .. } = batch;
        interval.seconds += elapsed.as_secs_f64();
        interval.matched += met;
        self.lost += lost;
        self.one_in = next;
        if next != one_in || interval.seconds >= INTERVAL.as_secs_f64() {
            self.window.add(std::mem::take(interval));
        }
        Ok(())
    }

    /// Continues before other rules that were loaded meanwhile; `running` is the program that runs
    /// now. Waits for a later call while another process writes. Returns the holder if another
    /// process runs a trial.
    pub fn follow(&mut self, running: u32) -> Result<Option<Holder>> {
        if running == self.sampler.program() || !Writer::is_free(self.control) {
            return Ok(None);
        }
        let update = Update::begin(self.control, self.interface)?;
        let _no_trial = match update.claim_for(self.control, TRIAL)? {
            Ok(claim) => claim,
            Err(holder) => return Ok(Some(holder)),
        };
        if self.sampler.runs()? {
            return Ok(None);
        }
        let claim = self.sampler.claim()?;
        let sampler = begin(&update, self.rate, claim)?;
        // The previous sampler takes the writers' lock when it is dropped.
        drop(update);
        self.sampler = sampler;
        (self.lost, self.interval) = (0, Interval::default());
        Ok(None)
    }

    /// The busiest senders of the last seconds.
    pub fn top(&self) -> TopSenders {
        TopSenders::new(&self.window, self.one_in, self.lost)
    }
}

fn begin(update: &Update, rate: SampleRate, claim: File) -> Result<PacketSampler> {
    update.required()?;
    let choice = SampleFilter { tests: Vec::new(), rate, bytes: HEADERS };
    PacketSampler::begin(update, &FilterPlacement::default(), &choice, claim)
}

/// The busiest senders and ports, estimated from sampled packets.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TopSenders {
    /// Length of the window, in seconds.
    pub window_s: f64,
    /// Packets of the window.
    pub packets: u64,
    /// Packets of the window that were sampled.
    pub samples: u64,
    /// One of this many packets is sampled now.
    pub one_in: u32,
    /// Sampled packets that were not read in time and lost, since the rules were loaded.
    pub lost: u64,
    /// Sorted by rate, the highest first.
    pub sources: Vec<Sender>,
    /// Busiest ports, sorted by rate, the highest first.
    pub ports: Vec<Sender>,
}

/// A source address, or a destination port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sender {
    /// The address, or protocol and port such as `udp/53`.
    pub name: String,
    /// Packets per second.
    pub pps: f64,
    /// Half of the 95 % confidence interval of the rate; 0 if every packet was sampled.
    pub error_pps: f64,
    /// Packets that were sampled.
    pub samples: u64,
    /// The most frequent verdict of its packets.
    pub verdict: &'static str,
    /// The most frequent reason for that verdict.
    pub reason: Option<&'static str>,
}

impl TopSenders {
    /// The busiest senders and ports of a window.
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

/// Samples per second: a sender with 1 % of all packets is estimated to within 10 %.
const PER_SECOND: u32 = 10_000;
/// Longest interval with one sampling rate.
const INTERVAL: Duration = Duration::from_millis(100);
/// Length of the window.
const SPAN: Duration = Duration::from_secs(2);
/// Rows of each list.
const MOST: usize = 20;
