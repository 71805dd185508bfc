//! `Detector`: observes an interface for a time, and finds floods and rules against them.
//!
//! Rule: nothing is changed without [`DetectionReport::load`]; the active rules decide as before
//! during the observation.

use std::time::Duration;

use filter::runtime::detect::{Settings, detect};
use sys::signal::Stop;

use super::detection::{DetectionReport, Finding, Observation};
use super::load::FilterPlacement;
use super::observation::{ObservedTraffic, Observer};
use super::sampler::{HEADERS, PacketSampler, SampleFilter, SampleRate};
use super::temporary::TemporaryRules;
use super::trial::Ended;
use super::update::Update;
use crate::Control;
use crate::detection::DetectOptions;
use crate::error::Result;

/// A running observation. Dropping it restores the previous program.
#[derive(Debug)]
pub struct Detector {
    interface: String,
    settings: Settings,
    observer: Observer,
}

impl Detector {
    /// Starts to observe an interface.
    ///
    /// # Errors
    /// An allowed source is not valid, another trial or sampler runs on the interface, or the
    /// kernel refuses the sampling program.
    pub fn begin(control: &Control, interface: &str, options: &DetectOptions) -> Result<Self> {
        // The writers' lock is held until the sampler runs.
        let update = Update::begin(control, interface)?;
        let settings = options.settings(&update.rules()?.unwrap_or_default().scope)?;
        let claim = update.claim(control)?;
        let rate = SampleRate::About(options.samples);
        let choice = SampleFilter { tests: Vec::new(), rate, bytes: HEADERS };
        let sampler = PacketSampler::begin(&update, &placement(options), &choice, claim)?;
        let observer = Observer::new(sampler, options.time, options.kept);
        Ok(Self { interface: interface.to_owned(), settings, observer })
    }

    /// Observes until the time is over, a signal arrives, or another process loads other rules.
    pub fn finish(mut self, stop: &Stop) -> Result<DetectionReport> {
        loop {
            let is_interrupted = stop.wait(self.pause())?.is_some();
            if let Some(ended) = self.read(is_interrupted)? {
                return Ok(self.report(ended));
            }
        }
    }

    /// Time until the next reading.
    pub fn pause(&self) -> Duration {
        self.observer.pause()
    }

    /// Reads what was sampled. Returns why the observation ends, if it does.
    pub fn read(&mut self, is_interrupted: bool) -> Result<Option<Ended>> {
        self.observer.read(is_interrupted)
    }

    /// What the observation found. Restores the previous program.
    pub fn report(self, ended: Ended) -> DetectionReport {
        let Self { interface, settings, observer } = self;
        let ObservedTraffic { sample, seconds, ended, read, lost } = observer.finish(ended);
        let hold_s = settings.hold.as_secs_f64();
        let observation = Observation { seconds, ended, looked_at: read, lost, hold_s };
        let detection = detect(&sample.finish(), seconds, &settings);
        DetectionReport::new(&interface, &detection, observation)
    }
}

impl DetectionReport {
    /// Loads the rules of the first findings that would drop few packets of clients, at most `most`
    /// rules, under unused names that begin with `prefix`. `None` if there are no such findings.
    ///
    /// # Errors
    /// The kernel refuses the program; then nothing has changed.
    pub fn load(
        &mut self,
        control: &Control,
        (prefix, most): (&str, usize),
        options: &DetectOptions,
    ) -> Result<Option<TemporaryRules>> {
        let good = |one: &Finding| one.collateral_most <= options.max_collateral;
        let chosen: Vec<_> = self.findings.iter_mut().filter(|one| good(one)).take(most).collect();
        let texts: Vec<_> = chosen.iter().map(|finding| finding.rule.clone()).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let update = Update::begin(control, &self.interface)?;
        let rules = TemporaryRules::add(&update, prefix, &texts, &placement(options))?;
        let names = rules.iter().flat_map(TemporaryRules::names);
        chosen.into_iter().zip(names).for_each(|(one, name)| one.applied = Some(name.clone()));
        Ok(rules)
    }
}

fn placement(options: &DetectOptions) -> FilterPlacement {
    FilterPlacement { mode: options.mode, ..FilterPlacement::default() }
}
