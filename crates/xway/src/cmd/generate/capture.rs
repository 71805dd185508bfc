//! Writes the first frames of a run to a capture. The model makes them, which the programs must
//! agree with, so that nothing has to be sent.
//!
//! Rule: the file gets its name when it is complete.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use pcap::{LinkType, Packet, Writer};
use traffic::generator::{Config, Load};
use traffic::program::{Clock, Exit, Frames, Gaps, Job};
use traffic::rate::Spacing;
use traffic::{Rate, Template};

use crate::cmd::folder;

/// Writes `first` frames; fewer when the run has fewer.
pub fn write(path: &Path, config: &Config, first: u32) -> Result<PathBuf> {
    let count = config.count.unwrap_or(u64::MAX).min(first.into()) as usize;
    let frames = match &config.load {
        Load::Streams(templates) => streams(templates, config, count)?,
        Load::Recording(recording) => {
            let rounds = std::iter::repeat(&recording.frames).flatten();
            let all = recording.total().unwrap_or(u64::MAX).min(count as u64) as usize;
            let timed = rounds.zip(0u64..).take(all).map(|(frame, number)| {
                let round = (number / recording.frames.len() as u64) as u32;
                let due = recording.length * round + frame.due;
                (due.as_nanos() as u64, recording.bytes_of(frame).to_vec())
            });
            timed.collect()
        }
    };
    save(path, &config.interface, frames).with_context(|| path.display().to_string())?;
    Ok(path.to_owned())
}

/// Threads take turns; times are those of an even pace, zero when there is none.
fn streams(templates: &[Template], config: &Config, count: usize) -> Result<Vec<(u64, Vec<u8>)>> {
    let threads = config.cpus.len().max(1) as u32;
    let job = |thread| Job {
        templates,
        exit: Exit::Pass,
        thread,
        threads,
        seed: config.seed,
        group: config.batch.unwrap_or(1),
        pace: (config.profile.spacing == Spacing::Poisson).then_some(Gaps::Poisson),
        rewrite: true,
        clock: Clock::Frame,
    };
    let jobs: Vec<Job<'_>> = (0..threads).map(job).collect();
    let mut turns = jobs.iter().map(Frames::new).collect::<Result<Vec<_>, _>>()?;
    let mut time = 0.0;
    let mut frames = Vec::with_capacity(count.min(1 << 16));
    while frames.len() < count {
        let turn = frames.len() % turns.len();
        let Some(planned) = turns[turn].next() else { break };
        let bytes = planned.bytes(time as u64);
        let gap = gap_ns(config.profile.rate, bytes.len());
        frames.push((time as u64, bytes));
        time += gap;
    }
    Ok(frames)
}

fn gap_ns(rate: Rate, bytes: usize) -> f64 {
    match rate {
        Rate::PacketsPerSecond(pps) => 1e9 / pps,
        Rate::BitsPerSecond(bps) => bytes as f64 * 8e9 / bps,
        Rate::Max => 0.0,
    }
}

fn save(path: &Path, interface: &str, frames: Vec<(u64, Vec<u8>)>) -> Result<()> {
    let file = folder::begin(path)?;
    fill(file.writer()?, interface, frames)?;
    file.keep()?;
    Ok(())
}

fn fill(file: File, interface: &str, frames: Vec<(u64, Vec<u8>)>) -> Result<()> {
    let options = pcap::Options { application: Some("xway gen".to_owned()), ..Default::default() };
    let mut writer = Writer::pcapng(file, &options)?;
    writer.interface(interface, LinkType::ETHERNET)?;
    let begin = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    for (time, data) in frames {
        let timestamp_ns = begin + time;
        let flags = Some(Packet::OUTBOUND);
        writer.write(&Packet { timestamp_ns, data, flags, ..Packet::default() })?;
    }
    writer.finish()?;
    Ok(())
}
