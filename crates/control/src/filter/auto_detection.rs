//! `AutoDetection`: detects floods on an interface as they begin, and loads temporary rules.
//!
//! ```text
//!          passed packets over the threshold             a rule is found, or none
//!  Idle ─────────────────────────────────────▶ Observing ────────────────────────▶ Idle
//!   │ each second: rate of passed packets         │ each 20 ms: sampled packets
//!   └ rules: extended while the flood lasts, removed once they have expired
//! ```
//!
//! Rule: packets are sampled only during an observation; an idle interface costs one reading of
//! counters per second. Every rule expires even if this process is killed, and another process that
//! watches the same interface continues with the rules that it finds. Not here: what a flood is
//! (`filter::runtime::detect`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use filter::maps::RULES;
use filter::runtime::actions;
use spec::Verdict;
use sys::errno::ENODEV;
use sys::net::Netlink;
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use super::detection::Finding;
use super::detector::Detector;
use super::temporary::TemporaryRules;
use super::trial::Ended;
use super::update::Update;
use crate::Control;
use crate::counters::Counters;
use crate::detection::{AutoOptions, DetectOptions};
use crate::error::{Error, Result};

/// Detection on one interface.
#[derive(Debug)]
pub struct AutoDetection {
    control: Control,
    interface: String,
    options: AutoOptions,
    /// The filter at the last reading; `None` before the first one.
    watched: Option<Watched>,
    observation: Option<Box<Detector>>,
    /// Time of the next step.
    due: Instant,
    /// No observation begins earlier, unless more packets pass than `calm_pps`.
    not_before: Instant,
    calm_pps: f64,
    /// When rules were loaded, or first seen by this process.
    since: BTreeMap<String, Instant>,
    counts: AutoCounts,
}

/// What was detected so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AutoCounts {
    /// Observations that began.
    pub observations: u64,
    /// Rules that were loaded.
    pub rules: u64,
    /// Rules that drop packets now.
    pub active: usize,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum AutoEvent {
    /// More packets pass than the threshold; an observation begins.
    Observing { pps: f64, time: Duration },
    /// A rule was loaded.
    Loaded { name: String, rule: String, pps: f64 },
    /// There is a flood, but the rule against it would drop too many packets of clients.
    Refused { rule: String, collateral: f64 },
    /// No flood was found.
    NoFlood,
    /// The flood continues, and so does its rule.
    Extended { name: String, pps: f64 },
    /// Rules that have expired were removed.
    Removed { names: Vec<String>, packets: u64 },
    /// An observation could not begin, or rules could not be changed.
    Failed(String),
}

/// The filter and its counters at the last reading.
#[derive(Debug)]
struct Watched {
    active: ActiveFilter,
    counters: Counters,
    /// Packets that were not dropped.
    passed: u64,
    at: Instant,
    rules: Vec<OwnRule>,
}

/// A rule that a detection added.
#[derive(Clone, Debug)]
struct OwnRule {
    name: String,
    number: u32,
    packets: u64,
}

impl AutoDetection {
    pub fn new(control: &Control, interface: &str, options: AutoOptions) -> Self {
        let now = Instant::now();
        Self {
            control: control.clone(),
            interface: interface.to_owned(),
            options,
            watched: None,
            observation: None,
            due: now,
            not_before: now,
            calm_pps: f64::INFINITY,
            since: BTreeMap::new(),
            counts: AutoCounts::default(),
        }
    }

    /// Name of the interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    pub fn options(&self) -> &AutoOptions {
        &self.options
    }

    pub fn counts(&self) -> AutoCounts {
        self.counts
    }

    pub fn is_observing(&self) -> bool {
        self.observation.is_some()
    }

    /// Time of the next step.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Makes the next step. `may_observe` is whether an observation may begin. Errors are events:
    /// the next step tries again.
    pub fn step(&mut self, may_observe: bool) -> Vec<AutoEvent> {
        let mut events = Vec::new();
        let result = match self.observation.take() {
            Some(detector) => self.observe(detector, &mut events),
            None => self.watch(may_observe, &mut events),
        };
        if let Err(error) = result {
            self.watched = None;
            self.pause(PAUSE_AFTER_FAILURE, f64::INFINITY);
            self.due = Instant::now() + PAUSE_AFTER_FAILURE;
            // The filter may have been replaced or detached meanwhile.
            if !matches!(error, Error::NoFilter { .. } | Error::NoInterface { .. }) {
                events.push(AutoEvent::Failed(crate::error::full(&error)));
            }
        }
        events
    }

    /// Reads what was sampled; at the end, loads rules.
    fn observe(&mut self, mut detector: Box<Detector>, events: &mut Vec<AutoEvent>) -> Result<()> {
        let Some(ended) = detector.read(false)? else {
            self.due = Instant::now() + detector.pause();
            self.observation = Some(detector);
            return Ok(());
        };
        self.due = Instant::now();
        let mut report = detector.report(ended);
        // After other rules were loaded, the sample is about the earlier ones.
        if ended != Ended::Time {
            self.pause(READING_INTERVAL, f64::INFINITY);
            return Ok(());
        }
        let left = self.options.detect.max_rules.saturating_sub(self.counts.active);
        report.load(&self.control, (PREFIX, left), &self.options.detect)?;
        let loaded = report.findings.iter().filter_map(loaded);
        let loaded: Vec<_> = loaded.collect();
        if loaded.is_empty() {
            let finding = report.findings.first();
            let pause = if finding.is_some() { PAUSE_AFTER_REFUSAL } else { PAUSE_WITHOUT_FLOOD };
            self.pause(pause, CALM * report.all.pps);
            events.push(finding.map_or(AutoEvent::NoFlood, refused));
        }
        self.counts.rules += loaded.len() as u64;
        events.extend(loaded);
        Ok(())
    }

    /// Reads the counters; maintains rules and begins an observation.
    fn watch(&mut self, may_observe: bool, events: &mut Vec<AutoEvent>) -> Result<()> {
        self.due = Instant::now() + READING_INTERVAL;
        let running = self.running()?;
        let before = self.watched.take().filter(|one| running.contains(&one.active.program_id));
        let Some(mut watched) = before else {
            self.watched = Some(self.first_reading()?);
            return Ok(());
        };
        let (passed, now) = (passed(&watched.counters)?, Instant::now());
        let seconds = (now - watched.at).as_secs_f64();
        let pps = passed.saturating_sub(watched.passed) as f64 / seconds;
        (watched.passed, watched.at) = (passed, now);
        let expired = match self.extend_rules(&mut watched, seconds, events) {
            // The pins of a filter that was replaced meanwhile are removed.
            Err(_) if !self.running()?.contains(&watched.active.program_id) => return Ok(()),
            expired => expired?,
        };
        if !expired.is_empty() {
            return self.remove(&watched.active, &expired, events);
        }
        self.watched = Some(watched);
        let has_room = self.counts.active < self.options.detect.max_rules;
        let is_flood = pps >= self.options.detect.above.least_pps();
        let is_due = now >= self.not_before || pps > self.calm_pps;
        if is_flood && has_room && may_observe && is_due {
            self.begin(pps, events)?;
        }
        Ok(())
    }

    fn begin(&mut self, pps: f64, events: &mut Vec<AutoEvent>) -> Result<()> {
        let options = &self.options.detect;
        let detector = Detector::begin(&self.control, &self.interface, options)?;
        events.push(AutoEvent::Observing { pps, time: options.time });
        self.counts.observations += 1;
        self.due = Instant::now() + detector.pause();
        self.observation = Some(Box::new(detector));
        Ok(())
    }

    /// Extends rules that will expire soon while their flood continues. Returns the names of those
    /// that have expired.
    fn extend_rules(
        &self,
        watched: &mut Watched,
        seconds: f64,
        events: &mut Vec<AutoEvent>,
    ) -> Result<Vec<String>> {
        let mut expired = Vec::new();
        if watched.rules.is_empty() {
            return Ok(expired);
        }
        let (map, counts) = (watched.active.map(RULES)?, watched.active.rule_counts()?);
        let AutoOptions { detect: DetectOptions { hold, above, .. }, max_hold } = self.options;
        for rule in &mut watched.rules {
            let left = actions::left(&map, rule.number, monotonic_ns())?.unwrap_or_default();
            let packets = counts.get(rule.number as usize).map_or(0, |one| one.packets);
            let pps = packets.saturating_sub(rule.packets) as f64 / seconds;
            rule.packets = packets;
            let age = self.since.get(&rule.name).map_or(Duration::ZERO, Instant::elapsed);
            let is_ending = left <= EXTENDED_BEFORE.min(hold / 2);
            if left.is_zero() {
                expired.push(rule.name.clone());
            } else if is_ending
                && pps >= above.least_pps()
                && age + hold <= max_hold
                && self.extend(&watched.active, rule.number)?
            {
                events.push(AutoEvent::Extended { name: rule.name.clone(), pps });
            }
        }
        Ok(expired)
    }

    /// Gives a rule its whole time again, unless other rules were loaded meanwhile.
    fn extend(&self, active: &ActiveFilter, number: u32) -> Result<bool> {
        let update = Update::begin(&self.control, &self.interface)?;
        let now = update.required()?;
        if now.program_id != active.program_id {
            return Ok(false);
        }
        let hold = self.options.detect.hold;
        Ok(actions::extend(&now.map(RULES)?, number, monotonic_ns(), hold)?)
    }

    fn remove(
        &mut self,
        active: &ActiveFilter,
        names: &[String],
        events: &mut Vec<AutoEvent>,
    ) -> Result<()> {
        let mut rules = TemporaryRules::find(active, &self.interface, PREFIX)?;
        rules.retain(names);
        if let Some(packets) = rules.remove(&self.control)? {
            events.push(AutoEvent::Removed { names: names.to_vec(), packets });
        }
        Ok(())
    }

    fn first_reading(&mut self) -> Result<Watched> {
        let read = |active: &ActiveFilter| {
            let counters = active.counters()?;
            let own = TemporaryRules::find(active, &self.interface, PREFIX)?;
            let counts = match own.names() {
                [] => Vec::new(),
                _ => active.rule_counts()?,
            };
            let rules = active.rules()?.rules.into_iter().zip(0_u32..);
            let own = rules.filter(|(rule, _)| own.names().contains(&rule.name));
            let rules = own.map(|(rule, number)| {
                let packets = counts.get(number as usize).map_or(0, |one| one.packets);
                OwnRule { name: rule.name, number, packets }
            });
            Ok((rules.collect::<Vec<_>>(), passed(&counters)?, counters))
        };
        let (active, (rules, passed, counters)) =
            ActiveFilter::read_consistent(&self.control, &self.interface, read)?;
        let at = Instant::now();
        self.since.retain(|name, _| rules.iter().any(|rule| rule.name == *name));
        for rule in &rules {
            self.since.entry(rule.name.clone()).or_insert(at);
        }
        self.counts.active = rules.len();
        Ok(Watched { active, counters, passed, at, rules })
    }

    /// Ids of the programs on the interface.
    fn running(&self) -> Result<Vec<u32>> {
        match Netlink::open()?.link(&self.interface) {
            Ok(link) => Ok(link.xdp.programs().map(|(_, id)| id).collect()),
            Err(error) if error.is(ENODEV) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Delays the next observation, unless more packets pass than `calm_pps`.
    fn pause(&mut self, time: Duration, calm_pps: f64) {
        (self.not_before, self.calm_pps) = (Instant::now() + time, calm_pps);
    }
}

/// Packets that the filter did not drop.
fn passed(counters: &Counters) -> Result<u64> {
    let counts = counters.read()?;
    let passed = [Verdict::Pass, Verdict::Tx, Verdict::Redirect];
    Ok(passed.into_iter().map(|verdict| counts.verdict(verdict).packets).sum())
}

fn loaded(finding: &Finding) -> Option<AutoEvent> {
    let (name, rule) = (finding.applied.clone()?, finding.rule.clone());
    Some(AutoEvent::Loaded { name, rule, pps: finding.amount.pps })
}

fn refused(finding: &Finding) -> AutoEvent {
    AutoEvent::Refused { rule: finding.rule.clone(), collateral: finding.collateral_most }
}

/// Names of rules begin with this.
const PREFIX: &str = "flood-";
/// Time between two readings of the counters.
const READING_INTERVAL: Duration = Duration::from_secs(1);
/// A rule is extended if less than this, or than half of its time, remains.
const EXTENDED_BEFORE: Duration = Duration::from_secs(5);
/// Pause after an observation that found no flood: the traffic is probably legitimate.
const PAUSE_WITHOUT_FLOOD: Duration = Duration::from_secs(60);
/// Pause after one that found no acceptable rule: more traffic may show more of the clients.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(10);
/// Factor of the observed rate above which these pauses end.
const CALM: f64 = 1.5;
/// Pause after an error.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);
