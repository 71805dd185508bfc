//! The loops, the same for every peer.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::cpu::Cpu;
use crate::frame::{NUMBER, PORT, RTT_PORT, Template, Tracker, swap_macs};
use crate::options::{Options, Role};
use crate::port::{Bridge, Echo, Port, rest};
use crate::report::{Report, ready};

/// A peer's `main`.
pub fn main<P: Port, B: Bridge>() -> ExitCode {
    let done = Options::read().map_err(io::Error::other).and_then(|options| match options.role {
        Role::Tx => send::<P>(&options),
        Role::Rx => receive::<P>(&options),
        Role::Echo => forward::<Echo<P>>(&options),
        Role::Forward => forward::<B>(&options),
        Role::Rtt => Err(io::Error::other("the client of round trips is af-packet's")),
    });
    end(done)
}

/// Prints what a role came to.
fn end(done: io::Result<Report>) -> ExitCode {
    match done.and_then(|mut report| report.print()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn send<P: Port>(options: &Options) -> io::Result<Report> {
    let mut port = P::open(options)?;
    let template = Template::new(options.size, PORT);
    ready()?;
    let (clock, mut sent) = (Clock::start(options), 0);
    while !clock.is_over() {
        for _ in 0..TURNS {
            let mut number = sent;
            let write = |buffer: &mut [u8]| {
                template.write(buffer, number);
                number += 1;
            };
            sent += port.send(options.batch, options.size, write)? as u64;
        }
    }
    let left = drain(|| port.in_flight())?;
    let dropped = port.dropped();
    Ok(Report { sent, completed: sent - left, dropped, ..clock.report() })
}

fn receive<P: Port>(options: &Options) -> io::Result<Report> {
    let mut port = P::open(options)?;
    let mut tracker = Tracker::default();
    ready()?;
    let mut turn = || {
        if port.receive(options.batch, |frame| tracker.frame(frame))? == 0 {
            rest(options.wait, || port.wait())?;
        }
        Ok(tracker.received)
    };
    let clock = turns(options, &mut turn)?;
    Ok(Report { tracker, dropped: port.dropped(), ..clock.report() })
}

fn forward<B: Bridge>(options: &Options) -> io::Result<Report> {
    let mut bridge = B::open(options)?;
    let (mut tracker, mut sent) = (Tracker::default(), 0);
    ready()?;
    let mut turn = || {
        let (came, left) =
            bridge.forward(options.batch, |frame| turn_around(&mut tracker, frame))?;
        sent += left as u64;
        if came == 0 {
            rest(options.wait, || bridge.wait())?;
        }
        Ok(tracker.received)
    };
    let clock = turns(options, &mut turn)?;
    let left = drain(|| bridge.in_flight())?;
    let dropped = bridge.dropped();
    Ok(Report { sent, completed: sent - left, tracker, dropped, ..clock.report() })
}

#[inline(always)]
fn turn_around(tracker: &mut Tracker, frame: &mut [u8]) {
    tracker.frame(frame);
    swap_macs(frame);
}

/// The client of round trips: one frame at a time, spinning. What is lost is sent again.
pub fn ask<P: Port>(options: &Options) -> ExitCode {
    end(ask_with(P::open(options), options))
}

fn ask_with<P: Port>(port: io::Result<P>, options: &Options) -> io::Result<Report> {
    let mut port = port?;
    let template = Template::new(options.size, RTT_PORT);
    ready()?;
    let clock = Clock::start(options);
    let (mut report, mut number) = (Report::default(), 0u64);
    while !clock.is_over() {
        let asked = Instant::now();
        report.sent += port.send(1, options.size, |buffer| template.write(buffer, number))? as u64;
        let deadline = asked + PATIENCE;
        let mut answers = Tracker::default();
        while answers.received == 0 && Instant::now() < deadline {
            port.receive(1, |frame| {
                if frame.get(NUMBER..NUMBER + 8) == Some(&number.to_be_bytes()) {
                    answers.frame(frame);
                }
            })?;
        }
        match answers.received {
            0 => report.tracker.missing += 1,
            _ => report.round_trips_ns.push(asked.elapsed().as_nanos() as u64),
        }
        report.tracker.received += answers.received;
        number += 1;
    }
    let Report { sent, tracker, round_trips_ns, .. } = report;
    Ok(Report { sent, tracker, round_trips_ns, ..clock.report() })
}

/// Turns until the time is over, which begins when the first of our frames have come.
fn turns(options: &Options, mut turn: impl FnMut() -> io::Result<u64>) -> io::Result<Clock> {
    let deadline = Instant::now() + START;
    while turn()? == 0 {
        if Instant::now() > deadline {
            return Err(io::Error::other("no frame came"));
        }
    }
    let clock = Clock::start(options);
    while !clock.is_over() {
        for _ in 0..TURNS {
            turn()?;
        }
    }
    Ok(clock)
}

/// How many are still out when it is over.
fn drain(mut in_flight: impl FnMut() -> io::Result<usize>) -> io::Result<u64> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = in_flight()?;
        if left == 0 || Instant::now() > deadline {
            return Ok(left as u64);
        }
    }
}

/// Time and processor time of a run.
struct Clock {
    begin: Instant,
    cpu: Cpu,
    window: Duration,
}

impl Clock {
    fn start(options: &Options) -> Self {
        Self { begin: Instant::now(), cpu: Cpu::now(), window: options.window }
    }

    fn is_over(&self) -> bool {
        self.begin.elapsed() >= self.window
    }

    fn report(&self) -> Report {
        let cpu = Cpu::now().since(&self.cpu);
        Report { time: self.begin.elapsed(), cpu, ..Report::default() }
    }
}

/// Batches between two readings of the clock.
const TURNS: usize = 16;
/// The first frame comes this soon.
const START: Duration = Duration::from_secs(20);
/// An answer, or a completion, comes this soon.
const PATIENCE: Duration = Duration::from_millis(200);
