//! A comparison: kernel and engine side by side, packet for packet, to the first difference.
//!
//! Rule: both start alike and see the same packets in the same order. After each packet its
//! verdict, bytes and metadata are compared, and the map elements that the engine changed; every
//! [`PACE`] packets and at the end, all elements. What comes from clocks, chance and addresses is
//! left out where it differs (see `nature`).

use crate::error::Result;
use crate::input::Capture;
use crate::pair::{Elements, Pair};
use crate::results::{Difference, Report};
use crate::setup::Setup;
use crate::tally::Tally;

pub fn run(setup: &Setup<'_>, mut capture: Capture<'_>) -> Result<Report> {
    let mut pair = Pair::load(setup)?;
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
    Ok(Report {
        object: setup.name.clone(),
        program: setup.program.name.clone(),
        runtime: "kernel and vm",
        interrupted: capture.interrupted(),
        unfit: capture.unfit(),
        framed: capture.framed(),
        tally: tally.finish(&setup.world),
        rates: None,
        maps: Vec::new(),
        events: Vec::new(),
        log: Vec::new(),
        files: Vec::new(),
        coverage: None,
        first_difference: found,
        not_compared: Some(pair.into_left_out()),
    })
}

/// Compares all elements after packet `last`, and finds out which packet made them differ.
fn compare_all(
    pair: &mut Pair<'_>,
    capture: &Capture<'_>,
    last: u64,
) -> Result<Option<Difference>> {
    let Some((what, elements)) = pair.compare_all()? else { return Ok(None) };
    let earlier =
        if capture.interrupted() { None } else { search(pair.setup(), capture, &elements, last)? };
    Ok(Some(earlier.unwrap_or(Difference { packet: None, what })))
}

/// Runs the capture again, up to packet `last`, to the first packet after which one of the elements
/// differs. `None` where the difference does not appear again.
fn search(
    setup: &Setup<'_>,
    capture: &Capture<'_>,
    elements: &Elements,
    last: u64,
) -> Result<Option<Difference>> {
    let Some(mut capture) = capture.again()? else { return Ok(None) };
    let mut pair = Pair::load(setup)?;
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
