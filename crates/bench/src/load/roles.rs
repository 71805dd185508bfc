//! The roles: one short loop each over the public interface of `xsk`.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use xsk::socket::Rejected;
use xsk::{Rx, SendError, Socket, Tx};

use super::packet::{Template, number, swap_macs};
use super::plan::{Plan, Role};
use super::recorder::{Recorder, Tally};
use super::tracker;

/// The sockets of one worker.
#[derive(Debug)]
pub struct Task {
    /// The number of the worker within its plan.
    pub worker: usize,
    /// The socket of the worker.
    pub socket: Socket,
    /// The egress socket of [`Role::Forward`], which shares the memory of `socket`.
    pub out: Option<Socket>,
}

/// Runs one worker until its plan ends or `stop` is set.
///
/// # Errors
/// When a socket fails, or the plan lacks what its role needs.
pub fn run(mut task: Task, plan: &Plan, stop: &xsk::Stop) -> Result<Tally> {
    let mut recorder = Recorder::start(plan, task.worker, stop);
    let stream = task.socket.queue() as usize;
    let (tx, rx) = task.socket.halves();
    match plan.role {
        Role::Tx => send(tx, stream, &mut recorder)?,
        Role::Rx => receive(rx, &mut recorder)?,
        Role::Echo => answer(rx, tx, &mut recorder)?,
        Role::Forward => {
            let out = task.out.as_mut().context("forward has two sockets")?;
            answer(rx, out.tx(), &mut recorder)?;
        }
        Role::Rtt => ask(rx, tx, &mut recorder)?,
    }
    let mut stats = rx.stats()?;
    stats.tx = task.out.as_mut().map_or(tx.counters(), |out| out.tx().counters());
    Ok(recorder.end(stats))
}

/// Sends numbered packets, as fast as possible or paced.
fn send(tx: &mut Tx, stream: usize, recorder: &mut Recorder<'_>) -> Result<()> {
    let template = recorder.plan.template.as_ref().context("packets to send")?;
    recorder.begin();
    let start = Instant::now();
    while recorder.continues() {
        for _ in 0..recorder.turns() {
            let most = due(recorder, start);
            if most == 0 {
                pause(recorder, start);
                break;
            }
            let sent = burst(tx, template, tracker::number(stream, recorder.tally.sent), most)?;
            recorder.tally.sent += sent;
            if sent == 0 && !tx.wait(IDLE)? {
                break;
            }
        }
    }
    drain(tx, recorder)
}

/// Sends up to `most` packets together; returns how many fit into the ring.
#[inline]
fn burst(tx: &mut Tx, template: &Template, first: u64, most: u64) -> Result<u64> {
    let mut batch = tx.batch(u32::MAX);
    let mut next = first;
    let sent = batch.send_burst(most as usize, template.size(), |packet| {
        template.write(packet, next);
        next += 1;
    })?;
    batch.finish()?;
    Ok(sent as u64)
}

/// Returns how many packets are due now, at most a batch.
#[inline]
fn due(recorder: &Recorder<'_>, start: Instant) -> u64 {
    let (plan, sent) = (recorder.plan, recorder.tally.sent);
    let most = (plan.batch as u64).min(recorder.share - sent);
    if plan.gap_ns == 0.0 {
        return most;
    }
    let earned = (start.elapsed().as_nanos() as f64 / plan.gap_ns) as u64 + 1;
    most.min(earned.saturating_sub(sent))
}

/// Waits until the next packet is due; sleeps only for the greater part of a long wait.
fn pause(recorder: &Recorder<'_>, start: Instant) {
    let next = Duration::from_nanos((recorder.tally.sent as f64 * recorder.plan.gap_ns) as u64);
    let left = next.saturating_sub(start.elapsed());
    if left > NAP {
        std::thread::sleep((left - NAP).min(IDLE));
    } else {
        spin_loop();
    }
}

/// Counts numbered packets.
fn receive(rx: &mut Rx, recorder: &mut Recorder<'_>) -> Result<()> {
    while recorder.continues() {
        for _ in 0..recorder.turns() {
            let tracker = &mut recorder.tally.tracker;
            let came = rx.for_each(recorder.plan.batch, |packet| {
                tracker.note(packet);
            });
            recorder.tally.came += came as u64;
            if came == 0 && !rx.wait(IDLE)? {
                break;
            }
        }
    }
    Ok(())
}

/// Forwards numbered packets without a copy: `tx` shares the memory of `rx`.
fn answer(rx: &mut Rx, tx: &mut Tx, recorder: &mut Recorder<'_>) -> Result<()> {
    while recorder.continues() {
        for _ in 0..recorder.turns() {
            let came = turn(rx, tx, recorder)?;
            if came == 0 && !rx.wait(IDLE)? {
                break;
            }
        }
    }
    drain(tx, recorder)
}

#[inline]
fn turn(rx: &mut Rx, tx: &mut Tx, recorder: &mut Recorder<'_>) -> Result<u64> {
    let (batch, tally) = (recorder.plan.batch, &mut recorder.tally);
    let Forwarded { received, sent, refused } =
        forward_batch(rx, tx, batch, |packet| tally.tracker.note(packet))?;
    tally.came += received;
    tally.sent += sent;
    tally.refused += refused;
    Ok(received)
}

/// What happened to one batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// Packets that were received in the turn.
    pub received: u64,
    /// Packets that were sent in the turn.
    pub sent: u64,
    /// Packets dropped because the transmit ring was full.
    pub refused: u64,
}

/// Moves one batch of received packets to `tx`, which shares the memory of `rx`, without a copy and
/// with exchanged Ethernet addresses. Packets that `accept` rejects are dropped.
///
/// # Errors
/// When a frame cannot be sent for another reason than a full ring, or the kernel refuses it.
#[inline]
pub fn forward_batch(
    rx: &mut Rx,
    tx: &mut Tx,
    batch: usize,
    mut accept: impl FnMut(&[u8]) -> bool,
) -> Result<Forwarded> {
    let mut count = Forwarded::default();
    let mut out = tx.batch(u32::MAX);
    for mut packet in rx.batch(batch) {
        count.received += 1;
        if !accept(&packet) {
            out.recycle(packet);
            continue;
        }
        swap_macs(&mut packet);
        match out.push(packet) {
            Ok(()) => count.sent += 1,
            Err(Rejected { frame, why: SendError::Full }) => {
                count.refused += 1;
                out.recycle(frame);
            }
            Err(Rejected { why, .. }) => return Err(why.into()),
        }
    }
    if count.received > 0 || out.in_flight() > 0 {
        out.finish()?;
    }
    Ok(count)
}

/// Sends one packet at a time and measures until its echo arrives.
fn ask(rx: &mut Rx, tx: &mut Tx, recorder: &mut Recorder<'_>) -> Result<()> {
    let template = recorder.plan.template.as_ref().context("packets to send")?;
    recorder.begin();
    let start = Instant::now();
    while recorder.continues() {
        if due(recorder, start) == 0 {
            pause(recorder, start);
            continue;
        }
        let asked = Instant::now();
        let wanted = recorder.tally.sent;
        recorder.tally.sent += burst(tx, template, wanted, 1)?;
        let mut answered = false;
        while !answered && asked.elapsed() < PATIENCE {
            let tracker = &mut recorder.tally.tracker;
            let came = rx.for_each(recorder.plan.batch, |packet| {
                answered |= tracker.note(packet) && number(packet) == Some(wanted);
            });
            recorder.tally.came += came as u64;
            if came == 0 {
                rx.wait(IDLE)?;
            }
        }
        match u32::try_from(asked.elapsed().as_nanos()) {
            Ok(ns) if answered => recorder.tally.round_trips_ns.record(ns),
            _ => recorder.tally.unanswered += 1,
        }
    }
    drain(tx, recorder)
}

/// Waits until all packets are sent, at most [`PATIENCE`].
fn drain(tx: &mut Tx, recorder: &mut Recorder<'_>) -> Result<()> {
    let drained = tx.drain(PATIENCE);
    recorder.tally.completed = tx.counters().completed;
    drained.failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Longest wait for a reply or a completion.
const PATIENCE: Duration = Duration::from_millis(200);
/// Longest wait for packets until the clock is read.
const IDLE: Duration = Duration::from_millis(50);
/// How late a sleep may end.
const NAP: Duration = Duration::from_micros(100);
