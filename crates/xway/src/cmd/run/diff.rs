//! `run --diff`: kernel and engine side by side, packet for packet, to the first difference.
//!
//! Rule: both start alike and see the same packets in the same order. After each packet its
//! verdict, bytes and metadata are compared, and the map elements that the engine changed; every
//! [`PACE`] packets and at the end, all elements. What comes from clocks, chance and addresses is
//! left out where it differs (see `nature`).

use anyhow::Result;

use super::input::Capture;
use super::pair::{Elements, Pair};
use super::tally::Tally;
use super::{Context, Exit, Job};
use crate::view::run::{Difference, Report};

pub fn run(job: &Job<'_>, mut capture: Capture<'_>, context: &Context) -> Result<Exit> {
    let mut pair = Pair::load(job)?;
    let mut tally = Tally::default();
    let (mut found, mut last) = (None, 0);
    while let Some(packet) = capture.next()? {
        let (ours, difference) = pair.step(&packet)?;
        if ours.is_interrupted() {
            break;
        }
        tally.count(&packet, &ours);
        last = packet.number;
        found = difference;
        if found.is_none() {
            found = pair.compare_changed(last)?;
        }
        if found.is_none() && last.is_multiple_of(PACE) {
            found = compare_all(&mut pair, &capture, last)?;
        }
        if found.is_some() {
            break;
        }
    }
    if found.is_none() {
        found = compare_all(&mut pair, &capture, last)?;
    }
    let report = Report {
        object: job.name.clone(),
        program: job.program.name.clone(),
        runtime: "kernel and vm",
        interrupted: capture.interrupted(),
        unfit: capture.unfit(),
        tally: tally.finish(&job.world),
        rates: None,
        maps: Vec::new(),
        events: Vec::new(),
        log: Vec::new(),
        files: Vec::new(),
        coverage: None,
        first_difference: found,
        not_compared: Some(pair.into_left_out()),
    };
    context.show(&report)?;
    Ok(if report.first_difference.is_none() { Exit::Done } else { Exit::No })
}

/// Compares all elements after packet `last`, and finds out which packet made them differ.
fn compare_all(
    pair: &mut Pair<'_>,
    capture: &Capture<'_>,
    last: u64,
) -> Result<Option<Difference>> {
    let Some((what, elements)) = pair.compare_all()? else { return Ok(None) };
    let earlier =
        if capture.interrupted() { None } else { search(pair.job(), capture, &elements, last)? };
    Ok(Some(earlier.unwrap_or(Difference { packet: None, what })))
}

/// Runs the capture again, up to packet `last`, to the first packet after which one of the elements
/// differs. `None` where the difference does not appear again.
fn search(
    job: &Job<'_>,
    capture: &Capture<'_>,
    elements: &Elements,
    last: u64,
) -> Result<Option<Difference>> {
    let Some(mut capture) = capture.again()? else { return Ok(None) };
    let mut pair = Pair::load(job)?;
    while let Some(packet) = capture.next()?.filter(|packet| packet.number <= last) {
        let (ours, _) = pair.step(&packet)?;
        if ours.is_interrupted() {
            break;
        }
        let found = pair.compare(elements)?;
        if let Some(what) = found {
            return Ok(Some(Difference { packet: Some(packet.number), what }));
        }
    }
    Ok(None)
}

/// Packets between comparisons of all elements.
const PACE: u64 = 1000;
