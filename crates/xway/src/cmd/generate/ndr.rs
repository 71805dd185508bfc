//! `gen ndr`: the measurement, with a report of each trial, and its files.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use control::folder::Folder;
use report::Host;
use sys::signal::Stop;
use traffic::generator;
use traffic::ndr::{self, Bursts, Config, FrameSize, Options, Progress};
use traffic::stream::{File, Sizes};
use traffic::{Rate, limits};

use super::address::Surroundings;
use super::run::listen;
use super::{guard, load};
use crate::args::generate::{Load, NdrArgs};
use crate::cmd::{Context, Exit};
use crate::view::ndr::{Measured, latency, line, loss, page, throughput};
use crate::view::say;

pub fn run(load: &Load<NdrArgs>, stop: &Stop, context: &Context) -> Result<Exit> {
    let args = load::run(load);
    let mut file = load::file(load, true)?;
    let mut surroundings = Surroundings::of(&args.dev, false, stop)?;
    surroundings.complete(&mut file)?;
    let loads = loads(&file, args, surroundings.mtu())?;
    if !args.force {
        let longest = loads.iter().flat_map(|load| &load.streams).map(|one| one.bytes.len());
        guard::check(&args.dev, args.most.unwrap_or(Rate::Max), longest.max().unwrap_or(0) as f64)?;
    }
    let config = config(args, loads)?;
    // First, so that a folder that cannot be made costs no measurement.
    let folder = args.out.as_deref().map(Folder::make).transpose()?;
    let sink = listen(&args.sink, args.sink_netns.as_deref())?;
    let report = ndr::measure(&config, &sink, &mut |progress| {
        tell(progress);
        if stop.pending().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    drop(sink);
    let mut measured = Measured::new(report);
    if let Some(folder) = folder {
        measured.files = write(&folder, &measured, &method(args))?;
    }
    context.show_next(&measured)?;
    let found = measured.report.rows.iter().any(|row| row.pps.is_some());
    Ok(if found { Exit::Done } else { Exit::No })
}

/// A load for each size. Sizes of the RFC that are too small for the headers, or larger than the
/// MTU, are left out with a message.
fn loads(file: &File, args: &NdrArgs, mtu: usize) -> Result<Vec<ndr::Load>> {
    let given = size(file)?.filter(|_| args.frames.is_empty());
    let sizes = match &given {
        Some(given) => std::slice::from_ref(given),
        None if args.frames.is_empty() => &FrameSize::ALL[..],
        None => &args.frames,
    };
    let mut loads = Vec::new();
    for size in sizes {
        match sized(file, *size).templates(mtu) {
            Ok(streams) => loads.push(ndr::Load { size: *size, streams }),
            Err(why) if args.frames.is_empty() && given.is_none() => {
                say(&format!("no frames of {size}: {why}"))
            }
            Err(why) => return Err(why.into()),
        }
    }
    if loads.is_empty() {
        bail!("no size holds these headers: give other --frames");
    }
    Ok(loads)
}

/// The only size that the streams have; `None` if none is given.
fn size(file: &File) -> Result<Option<FrameSize>> {
    let mut sizes = file.streams.iter().filter_map(|stream| stream.size.as_ref());
    let Some(first) = sizes.next() else { return Ok(None) };
    match FrameSize::try_from(first) {
        Ok(size) if sizes.all(|other| other == first) => Ok(Some(size)),
        _ => {
            bail!("a measurement is made for one size at a time: give --frames 64,512 or --size 60")
        }
    }
}

/// The streams with frames of this size, all of them stamped.
fn sized(file: &File, size: FrameSize) -> File {
    let mut file = file.clone();
    for stream in &mut file.streams {
        stream.size = Some(Sizes::from(size));
        stream.stamp = true;
    }
    file
}

fn config(args: &NdrArgs, loads: Vec<ndr::Load>) -> Result<Config> {
    let streams = loads.first().map(|load| load.streams.clone()).unwrap_or_default();
    let generator = generator::Config {
        cpus: args.cpus.clone().map(|cpus| cpus.0).unwrap_or_default(),
        batch: args.batch,
        seed: args.seed,
        ..generator::Config::new(&args.dev, generator::Load::Streams(streams))
    };
    let default = Options::default();
    Ok(Config {
        rate: Options {
            loss: args.loss / 100.0,
            resolution: args.resolution / 100.0,
            floor: packets(args.least, default.floor)?,
            ceiling: packets(args.most, default.ceiling)?,
            ..default
        },
        trial: args.trial.min(limits::DURATION),
        bursts: args.bursts.map(|longest| Bursts { longest, repeats: REPEATS }),
        shares: args.shares.iter().map(|percent| percent / 100.0).collect(),
        latency: args.latency.min(limits::DURATION),
        ..Config::new(generator, loads)
    })
}

fn packets(rate: Option<Rate>, otherwise: f64) -> Result<f64> {
    match rate {
        None | Some(Rate::Max) => Ok(otherwise),
        Some(Rate::PacketsPerSecond(pps)) => Ok(pps),
        Some(Rate::BitsPerSecond(_)) => bail!("rates are searched for in packets: 500kpps"),
    }
}

fn tell(progress: Progress<'_>) {
    match progress {
        Progress::Load { size, index, of } => {
            say(&format!("frames of {size} ({} of {of})", index + 1));
        }
        Progress::Trial(trial) => say(&line(trial)),
        Progress::Wait(_) | Progress::Row(_) => {}
    }
}

fn method(args: &NdrArgs) -> Vec<String> {
    vec![
        format!(
            "Frames left {} and were counted on {}, each by the number in its stamp.",
            args.dev, args.sink
        ),
        format!(
            "Trials of {} s, a binary search to {} % for the highest rate that loses at most {} \
             %; a rate that failed was tried once more, one that passed had to pass again.",
            args.trial.as_secs_f64(),
            args.resolution,
            args.loss
        ),
        format!("Latency of every frame, over {} s each.", args.latency.as_secs_f64()),
    ]
}

fn write(folder: &Folder, measured: &Measured, method: &[String]) -> Result<Vec<PathBuf>> {
    let json = serde_json::to_string_pretty(measured).context("cannot write the trials as JSON")?;
    let mut files = vec![
        folder.put("report.html", &page(measured, &Host::read(), method))?,
        folder.put("throughput.svg", throughput(measured).as_str())?,
        folder.put("loss.svg", loss(measured).as_str())?,
        folder.put("trials.json", &json)?,
    ];
    if let Some(figure) = latency(measured) {
        files.push(folder.put("latency.svg", figure.as_str())?);
    }
    Ok(files)
}

/// Bursts of the length that was found, all without loss.
const REPEATS: u32 = 5;
