//! `Plan`: a checked configuration.

use kernel::Ifindex;

use super::config::{Action, Config, Load, Rewrite};
use super::interface::Interface;
use crate::error::{ConfigError, Error, Result};
use crate::limits::{DURATION, RATE, STREAMS, THREADS};
use crate::program::Exit;
use crate::rate::{Pacer, Profile, Rate};
use crate::template::{Draw, Order, Template};

/// A configuration after all checks.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub config: Config,
    pub interface: Interface,
    /// Headers are rewritten in each frame.
    pub rewrite: bool,
    /// The processor of each thread.
    pub cpus: Vec<Option<usize>>,
    mean_len: f64,
}

impl Plan {
    /// Checks a configuration in the network namespace of the calling thread.
    pub fn new(config: Config) -> Result<Self> {
        check_bounds(&config)?;
        let cpus = cpus(&config)?;
        let (longest, mean_len) = lengths(&config.load)?;
        let interface = Interface::find(&config.interface)?;
        if config.action.transmits() {
            interface.check_transmit(longest)?;
        }
        let rewrite = match config.rewrite {
            Rewrite::Always => true,
            Rewrite::Never => false,
            // The stack, and the receivers of its frames, access the same memory, too.
            Rewrite::Auto => !config.action.transmits() || interface.is_veth(),
        };
        let plan = Self { config, interface, rewrite, cpus, mean_len };
        plan.pacer(&plan.config.profile)?;
        Ok(plan)
    }

    /// The pacer of a profile for these threads and frames.
    pub fn pacer(&self, profile: &Profile) -> Result<Pacer> {
        let (threads, batch) = (self.cpus.len(), self.config.batch);
        let Load::Recording(recording) = &self.config.load else {
            return Pacer::new(profile, threads, self.mean_len, batch);
        };
        if *profile != Profile::from(Rate::Max) {
            return Err(ConfigError::RecordingRate.into());
        }
        match recording.mean_pps() {
            None => Pacer::new(profile, threads, self.mean_len, batch),
            Some(_) if batch.is_some_and(|batch| batch > 1) => {
                Err(ConfigError::RecordingBatch.into())
            }
            // Its program keeps the times; the reported pace is the mean.
            Some(pps) => {
                let pps = pps.clamp(*RATE.start() as f64, *RATE.end() as f64);
                let mean = Profile::from(Rate::PacketsPerSecond(pps));
                Pacer::new(&mean, threads, self.mean_len, Some(1))
            }
        }
    }

    /// How the program of each thread ends for a frame.
    pub fn exit(&self) -> Exit {
        match self.config.action {
            Action::Transmit => Exit::Redirect(self.interface.ifindex),
            Action::Inject | Action::Program { .. } | Action::Complete(_) => Exit::Pass,
        }
    }

    /// The interface that appears to receive the frames.
    pub fn source(&self) -> Ifindex {
        match self.config.action {
            Action::Transmit | Action::Complete(_) => LOOPBACK,
            Action::Inject | Action::Program { .. } => self.interface.ifindex,
        }
    }

    /// Number of frames of a thread: an equal share of the count; the first threads send the
    /// remainder, one frame each.
    pub fn limit(&self, place: usize) -> u64 {
        let (threads, nth) = (self.cpus.len() as u64, place as u64);
        let share = |count: u64| count / threads + u64::from(nth < count % threads);
        let recorded = match &self.config.load {
            Load::Recording(recording) => recording.share(place, self.cpus.len()),
            Load::Streams(_) => None,
        };
        self.config.count.map_or(u64::MAX, share).min(recorded.unwrap_or(u64::MAX))
    }
}

fn check_bounds(config: &Config) -> Result<()> {
    let fail = |wrong| Err(Error::Config(wrong));
    let rounds = match &config.load {
        Load::Recording(recording) => recording.total(),
        Load::Streams(_) => None,
    };
    match (config.count.or(rounds), config.duration) {
        (None, None) => fail(ConfigError::NoEnd),
        (Some(0), _) => fail(ConfigError::Nothing { what: "count" }),
        (_, Some(time)) if time.is_zero() => fail(ConfigError::Nothing { what: "duration" }),
        (_, Some(given)) if given > DURATION => fail(ConfigError::TooLong { given }),
        _ => Ok(()),
    }
}

fn cpus(config: &Config) -> Result<Vec<Option<usize>>> {
    if config.cpus.is_empty() {
        return Ok(vec![None]);
    }
    if config.cpus.len() > THREADS {
        let (max, given) = (THREADS as u64, config.cpus.len() as u64);
        return Err(ConfigError::Range { what: "threads", min: 1, max, given }.into());
    }
    let allowed = sys::cpu::affinity()?;
    match config.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(config.cpus.iter().copied().map(Some).collect()),
        Some(cpu) => Err(ConfigError::Cpu { cpu: *cpu, allowed }.into()),
    }
}

/// Lengths of the longest frame and of all frames on average, after checking the load.
fn lengths(load: &Load) -> Result<(usize, f64)> {
    match load {
        Load::Streams(templates) => {
            check_streams(templates)?;
            let longest = templates.iter().map(|template| template.bytes.len()).max();
            Ok((longest.unwrap_or(0), mean_len(templates)))
        }
        Load::Recording(recording) => {
            let lens = recording.frames.iter().map(|frame| frame.len);
            let longest = lens.clone().max();
            let longest = longest.ok_or(ConfigError::EmptyRecording)?;
            Ok((longest, lens.sum::<usize>() as f64 / recording.frames.len() as f64))
        }
    }
}

fn check_streams(templates: &[Template]) -> Result<()> {
    if !(1..=STREAMS).contains(&templates.len()) {
        let (max, given) = (STREAMS as u64, templates.len() as u64);
        return Err(ConfigError::Range { what: "streams", min: 1, max, given }.into());
    }
    templates.iter().try_for_each(Template::check)?;
    for (index, template) in templates.iter().enumerate() {
        let same = templates[..index].iter().find(|other| other.id == template.id);
        if let Some(other) = same.filter(|_| template.stamp.is_some()) {
            let (first, second) = (other.name.clone(), template.name.clone());
            return Err(ConfigError::DuplicateId { first, second, id: template.id }.into());
        }
    }
    Ok(())
}

/// Mean number of bytes of a frame, over all streams.
fn mean_len(templates: &[Template]) -> f64 {
    let weight: f64 = templates.iter().map(|template| f64::from(template.weight)).sum();
    let bytes = templates.iter().map(|template| f64::from(template.weight) * stream_mean(template));
    bytes.sum::<f64>() / weight
}

fn stream_mean(template: &Template) -> f64 {
    let lens = template.sizes.iter().map(|size| size.len as f64);
    match template.size_draw.and_then(|draw| template.draws.get(draw)) {
        None => template.sizes.first().map_or(0.0, |size| size.len as f64),
        Some(Draw { order: Order::Zipf { exponent }, .. }) => {
            let shares = (1..=template.sizes.len()).map(|rank| (rank as f64).powf(-exponent));
            let sum: f64 = shares.clone().sum();
            lens.zip(shares).map(|(len, share)| len * share).sum::<f64>() / sum
        }
        Some(_) => lens.sum::<f64>() / template.sizes.len() as f64,
    }
}

/// Live runs without an interface appear to come from the loopback of the namespace.
const LOOPBACK: Ifindex = Ifindex(1);
