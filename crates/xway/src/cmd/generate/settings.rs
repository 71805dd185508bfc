//! From flags to a run's configuration.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use traffic::generator::{Action, Config, Load, Rewrite};
use traffic::rate::Spacing;
use traffic::{Profile, Rate, limits};

use super::guard;
use crate::args::generate::{RewriteArg, SendArgs};

/// Refuses what would harm the session that asks for it.
pub fn config(args: &SendArgs, load: Load, action: Action) -> Result<Config> {
    let interface = args.dev.clone().unwrap_or_default();
    let profile = profile(args)?;
    if !args.force && !args.dry_run {
        guard::check(&interface, peak(&profile, &load), longest(&load) as f64)?;
    }
    Ok(Config {
        action,
        profile,
        cpus: cpus(args)?,
        count: args.count,
        duration: Some(args.time.unwrap_or(limits::DURATION)),
        batch: args.batch,
        rewrite: match args.rewrite {
            RewriteArg::Auto => Rewrite::Auto,
            RewriteArg::Always => Rewrite::Always,
            RewriteArg::Never => Rewrite::Never,
        },
        seed: args.seed,
        announce_end: args.announce_end || args.sink.sink.is_some(),
        ..Config::new(interface, load)
    })
}

fn profile(args: &SendArgs) -> Result<Profile> {
    let rate = args.rate.unwrap_or(Rate::Max);
    let shaped = args.ramp.is_some() || args.burst.is_some() || args.poisson;
    if rate == Rate::Max && shaped {
        bail!("--ramp, --burst and --poisson need a --rate that is a number: max has no gaps");
    }
    let spacing = match (args.burst, args.poisson) {
        (Some(frames), _) => Spacing::Bursts(frames),
        (None, true) => Spacing::Poisson,
        (None, false) => Spacing::Constant,
    };
    Ok(Profile { rate, ramp: args.ramp, spacing })
}

/// The highest rate that will be.
fn peak(profile: &Profile, load: &Load) -> Rate {
    if let (Rate::Max, Load::Recording(recording)) = (profile.rate, load)
        && let Some(pps) = recording.mean_pps()
    {
        return Rate::PacketsPerSecond(pps);
    }
    let end = profile.ramp.map_or(profile.rate, |(end, _)| end);
    match (profile.rate, end) {
        (Rate::PacketsPerSecond(one), Rate::PacketsPerSecond(other)) => {
            Rate::PacketsPerSecond(one.max(other))
        }
        (Rate::BitsPerSecond(one), Rate::BitsPerSecond(other)) => {
            Rate::BitsPerSecond(one.max(other))
        }
        // Two units: whichever is more, it is at most as fast as can be.
        (one, other) if one != other => Rate::Max,
        (one, _) => one,
    }
}

fn longest(load: &Load) -> usize {
    match load {
        Load::Streams(templates) => {
            templates.iter().map(|template| template.bytes.len()).max().unwrap_or(0)
        }
        Load::Recording(recording) => recording.longest(),
    }
}

/// One thread may run anywhere; several are spread over the processors that there are.
pub fn cpus(args: &SendArgs) -> Result<Vec<usize>> {
    if let Some(cpus) = &args.cpus {
        return Ok(cpus.0.clone());
    }
    if args.threads == 1 {
        return Ok(Vec::new());
    }
    let allowed = sys::cpu::affinity().context("which processors may be used")?;
    if allowed.len() < args.threads {
        bail!(
            "{} threads want a processor each, but this process may use {}: fewer --threads",
            args.threads,
            allowed.len()
        );
    }
    Ok(allowed[..args.threads].to_vec())
}

/// Share of a run that is done, 0 to 1; nothing when only a signal ends it.
pub fn progress(config: &Config, given: u64, elapsed: Duration) -> Option<f64> {
    let by_count = config.count.map(|count| given as f64 / count.max(1) as f64);
    let timed = config.duration.filter(|time| *time < limits::DURATION);
    let by_time = timed.map(|time| elapsed.as_secs_f64() / time.as_secs_f64());
    [by_count, by_time].into_iter().flatten().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_faster_end_of_a_ramp() {
        use Rate::{BitsPerSecond as Bps, Max, PacketsPerSecond as Pps};
        let load = Load::Streams(Vec::new());
        for (rate, end, expected) in [
            (Pps(5.0), None, Pps(5.0)),
            (Pps(5.0), Some(Pps(9.0)), Pps(9.0)),
            (Bps(9.0), Some(Bps(5.0)), Bps(9.0)),
            (Bps(9.0), Some(Pps(5.0)), Max),
            (Max, None, Max),
        ] {
            let ramp = end.map(|end| (end, Duration::from_secs(1)));
            let profile = Profile { ramp, ..Profile::from(rate) };
            assert_eq!(peak(&profile, &load), expected, "{rate:?} to {end:?}");
        }
    }

    #[test]
    fn the_nearer_end_is_the_progress() {
        let load = || Load::Streams(Vec::new());
        let seconds = Duration::from_secs;
        for (count, duration, expected) in [
            (Some(100), Some(seconds(100)), Some(0.5)),
            (Some(1000), Some(seconds(10)), Some(0.1)),
            (None, Some(limits::DURATION), None),
            (None, Some(seconds(4)), Some(0.25)),
        ] {
            let config = Config { count, duration, ..Config::new("x", load()) };
            assert_eq!(progress(&config, 50, seconds(1)), expected);
        }
    }
}
