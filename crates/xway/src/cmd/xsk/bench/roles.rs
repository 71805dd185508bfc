//! The roles: one short loop each, over the library as anybody would use it.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use xsk::socket::Rejected;
use xsk::{Rx, SendError, Socket, Tx};

use super::book::{Book, Tally};
use super::packet::{Template, number, swap_macs};
use super::plan::Plan;
use super::tracker;
use crate::args::RoleArg;

/// The sockets of one worker.
#[derive(Debug)]
pub struct Task {
    pub worker: usize,
    pub socket: Socket,
    /// Where `forward` sends.
    pub out: Option<Socket>,
}

/// One worker from its first packet to its last.
pub fn play(mut task: Task, plan: &Plan, stop: &xsk::Stop) -> Result<Tally> {
    let mut book = Book::open(plan, task.worker, stop);
    let stream = task.socket.queue() as usize;
    let (tx, rx) = task.socket.halves();
    match plan.role {
        RoleArg::Tx => send(tx, stream, &mut book)?,
        RoleArg::Rx => receive(rx, &mut book)?,
        RoleArg::Echo => answer(rx, tx, &mut book)?,
        RoleArg::Forward => {
            let out = task.out.as_mut().context("forward has two sockets")?;
            answer(rx, out.tx(), &mut book)?;
        }
        RoleArg::Rtt => ask(rx, tx, &mut book)?,
    }
    let mut stats = rx.stats()?;
    stats.tx = task.out.as_mut().map_or(tx.counters(), |out| out.tx().counters());
    Ok(book.end(stats))
}

/// Numbered packets, as fast as they go or as they are due.
fn send(tx: &mut Tx, stream: usize, book: &mut Book<'_>) -> Result<()> {
    let template = book.plan.template.as_ref().context("packets to send")?;
    book.begin();
    let start = Instant::now();
    while book.goes_on() {
        for _ in 0..book.turns() {
            let most = due(book, start);
            if most == 0 {
                pause(book, start);
                break;
            }
            let sent = burst(tx, template, tracker::number(stream, book.tally.sent), most)?;
            book.tally.sent += sent;
            if sent == 0 && !tx.wait(IDLE)? {
                break;
            }
        }
    }
    drain(tx, book)
}

/// Sends up to `most` packets together; tells how many found room.
#[inline]
fn burst(tx: &mut Tx, template: &Template, first: u64, most: u64) -> Result<u64> {
    let mut batch = tx.batch(u32::MAX);
    let mut next = first;
    let sent = batch.send_burst(most as usize, template.len(), |packet| {
        template.write(packet, next);
        next += 1;
    })?;
    batch.finish()?;
    Ok(sent as u64)
}

/// Packets that may be sent now, at most a batch.
#[inline]
fn due(book: &Book<'_>, start: Instant) -> u64 {
    let (plan, sent) = (book.plan, book.tally.sent);
    let most = (plan.batch as u64).min(book.share - sent);
    if plan.gap_ns == 0.0 {
        return most;
    }
    let earned = (start.elapsed().as_nanos() as f64 / plan.gap_ns) as u64 + 1;
    most.min(earned.saturating_sub(sent))
}

/// Until the next packet is due; sleeps only where that is far off.
fn pause(book: &Book<'_>, start: Instant) {
    let next = Duration::from_nanos((book.tally.sent as f64 * book.plan.gap_ns) as u64);
    let left = next.saturating_sub(start.elapsed());
    if left > NAP {
        std::thread::sleep((left - NAP).min(IDLE));
    } else {
        spin_loop();
    }
}

/// Counts numbered packets.
fn receive(rx: &mut Rx, book: &mut Book<'_>) -> Result<()> {
    while book.goes_on() {
        for _ in 0..book.turns() {
            let tracker = &mut book.tally.tracker;
            let came = rx.for_each(book.plan.batch, |packet| {
                tracker.note(packet);
            });
            book.tally.came += came as u64;
            if came == 0 && !rx.wait(IDLE)? {
                break;
            }
        }
    }
    Ok(())
}

/// Sends numbered packets on, without a copy: `tx` has the memory of `rx`.
fn answer(rx: &mut Rx, tx: &mut Tx, book: &mut Book<'_>) -> Result<()> {
    while book.goes_on() {
        for _ in 0..book.turns() {
            let came = turn(rx, tx, book)?;
            if came == 0 && !rx.wait(IDLE)? {
                break;
            }
        }
    }
    drain(tx, book)
}

#[inline]
fn turn(rx: &mut Rx, tx: &mut Tx, book: &mut Book<'_>) -> Result<u64> {
    let tally = &mut book.tally;
    let before = tally.came;
    let mut out = tx.batch(u32::MAX);
    for mut packet in rx.batch(book.plan.batch) {
        tally.came += 1;
        if !tally.tracker.note(&packet) {
            out.recycle(packet);
            continue;
        }
        swap_macs(&mut packet);
        match out.push(packet) {
            Ok(()) => tally.sent += 1,
            Err(Rejected { frame, why: SendError::Full }) => {
                tally.refused += 1;
                out.recycle(frame);
            }
            Err(Rejected { why, .. }) => return Err(why.into()),
        }
    }
    if tally.came > before || out.in_flight() > 0 {
        out.finish()?;
    }
    Ok(tally.came - before)
}

/// One packet at a time.
fn ask(rx: &mut Rx, tx: &mut Tx, book: &mut Book<'_>) -> Result<()> {
    let template = book.plan.template.as_ref().context("packets to send")?;
    book.begin();
    let start = Instant::now();
    while book.goes_on() {
        if due(book, start) == 0 {
            pause(book, start);
            continue;
        }
        let asked = Instant::now();
        let wanted = book.tally.sent;
        book.tally.sent += burst(tx, template, wanted, 1)?;
        let mut answered = false;
        while !answered && asked.elapsed() < PATIENCE {
            let tracker = &mut book.tally.tracker;
            let came = rx.for_each(book.plan.batch, |packet| {
                answered |= tracker.note(packet) && number(packet) == Some(wanted);
            });
            book.tally.came += came as u64;
            if came == 0 {
                rx.wait(IDLE)?;
            }
        }
        match u32::try_from(asked.elapsed().as_nanos()) {
            Ok(ns) if answered => book.tally.round_trips_ns.record(ns),
            _ => book.tally.unanswered += 1,
        }
    }
    drain(tx, book)
}

/// Waits until everything is sent, for a moment.
fn drain(tx: &mut Tx, book: &mut Book<'_>) -> Result<()> {
    let drained = tx.drain(PATIENCE);
    book.tally.completed = tx.counters().completed;
    drained.failed.map_or(Ok(()), |error| Err(error.into()))
}

/// An answer, or a completion, comes this soon.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long nothing may come until the clock is looked at.
const IDLE: Duration = Duration::from_millis(50);
/// What a sleep may be late by.
const NAP: Duration = Duration::from_micros(100);
