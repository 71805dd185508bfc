//! `filter detect`: finds floods in observed traffic, and rules that would stop them.
//!
//! Rule: the active rules decide as before during the observation. Without a filter, the sampling
//! program ends with this process.

use anyhow::{Context as _, Result};
use control::filter::FilterPlacement;
use control::filter::detection::{DetectionReport, Observation};
use control::filter::observation::observe;
use control::filter::sampler::{HEADERS, PacketSampler, SampleFilter, SampleRate};
use control::filter::temporary::TemporaryRules;
use control::filter::update::Update;
use filter::File;
use filter::runtime::detect::{Settings, detect};
use sys::signal::Stop;

use crate::args::FilterDetectArgs;
use crate::cmd::{Context, Exit};
use crate::view::say;

pub fn run(args: &FilterDetectArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let (settings, sampler) = begin(args, context)?;
    let traffic = observe(sampler, args.time, &stop)?;
    let observation = Observation {
        seconds: traffic.seconds,
        ended: traffic.ended,
        looked_at: traffic.read,
        lost: traffic.lost,
        hold_s: args.hold.as_secs_f64(),
    };
    let detection = detect(&traffic.sample.finish(), observation.seconds, &settings);
    let mut detected = DetectionReport::new(&args.iface, &detection, observation);
    let exit = if detection.findings.is_empty() { Exit::No } else { Exit::Done };
    if !args.auto {
        context.show(&detected)?;
        return Ok(exit);
    }
    detected.choose(args.max_rules, args.max_collateral);
    let rules = apply(&mut detected, args, context)?;
    context.show(&detected)?;
    if let Some(rules) = rules {
        hold(&rules, args, &stop, context)?;
    }
    Ok(exit)
}

/// Loads the chosen rules; `None` if none were chosen.
fn apply(
    detected: &mut DetectionReport,
    args: &FilterDetectArgs,
    context: &Context,
) -> Result<Option<TemporaryRules>> {
    let update = Update::begin(&context.control, &args.iface)?;
    let chosen = detected.findings.iter().filter(|finding| finding.chosen);
    let texts: Vec<_> = chosen.map(|finding| finding.rule.as_str()).collect();
    let rules = TemporaryRules::add(&update, PREFIX, &texts, &placement(args))?;
    let names = rules.iter().flat_map(TemporaryRules::names);
    let chosen = detected.findings.iter_mut().filter(|finding| finding.chosen);
    chosen.zip(names).for_each(|(finding, name)| finding.applied = Some(name.clone()));
    Ok(rules)
}

/// Waits until the rules have expired or a signal arrives, and removes them.
fn hold(
    rules: &TemporaryRules,
    args: &FilterDetectArgs,
    stop: &Stop,
    context: &Context,
) -> Result<()> {
    let interrupted = stop.wait(args.hold)?.is_some();
    let why = if interrupted { "interrupted" } else { "their time has expired" };
    if let Some(packets) = rules.remove(&context.control)? {
        let names = rules.names().join(", ");
        say(&format!("xway: {why}: {names} removed after {packets} packets"));
    }
    Ok(())
}

/// Starts sampling. The writers' lock is held until the sampler runs.
fn begin(args: &FilterDetectArgs, context: &Context) -> Result<(Settings, PacketSampler)> {
    let update = Update::begin(&context.control, &args.iface)?;
    let settings = settings(args, &update.rules()?.unwrap_or_default())?;
    let claim = update.claim(&context.control)?;
    let choice =
        SampleFilter { tests: Vec::new(), rate: SampleRate::About(args.samples), bytes: HEADERS };
    Ok((settings, PacketSampler::begin(&update, &placement(args), &choice, claim)?))
}

fn placement(args: &FilterDetectArgs) -> FilterPlacement {
    FilterPlacement { mode: args.mode.map(Into::into), ..FilterPlacement::default() }
}

fn settings(args: &FilterDetectArgs, active: &File) -> Result<Settings> {
    let mut settings = Settings {
        threshold: args.above,
        hold: args.hold,
        most: MOST_FINDINGS,
        top: args.top,
        allowed: Vec::new(),
    };
    for what in &args.allow {
        settings.allow(what, &active.scope).with_context(|| format!("--allow {what}"))?;
    }
    Ok(settings)
}

/// Largest number of findings.
const MOST_FINDINGS: usize = 8;
/// Names of temporary rules begin with this.
const PREFIX: &str = "detect-";
