//! The campaign `route-lab`: routing daemons change routes while numbered frames pass five routers.
//!
//! ```text
//!  src ── r1 ───── r2 ───── r3 ───── r4 ───── r5 ── dst
//!         BIRD     FRR      FRR      BIRD     BIRD
//!         ours     kernel   ours     kernel   ours
//! ```
//! The last router announces the frames' network and withdraws it, again and again, and meanwhile
//! announces and withdraws thousands of other networks. BGP carries both to the first router.
//!
//! A change takes some tenths of a second from the last router to the first one, more while others
//! are under way. So most frames of a flapping route find a router without it. Each fourth flap is
//! therefore followed: the last router waits until all routers have it, and frames that are sent
//! from then until the next withdrawal should arrive.
//!
//! Rule: each frame arrives once, or one of the routers' counters has it. A frame without an end is
//! missing, and a second end is in excess.

pub mod follow;
mod report;
pub mod withdraw;

use std::net::Ipv4Addr;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use lab::until;

use crate::differential::Rng;
use crate::routing::{
    Bird, Drops, Frr, Line, Receiver, Routing, Sender, bgp, cpu_seconds, frame, passed,
};

pub use report::{FollowedFlap, Report};

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of the times between two changes.
    pub seed: u64,
    /// Number of withdrawals and announcements of the frames' network.
    pub flaps: usize,
    /// Number of other networks.
    pub networks: usize,
    /// Frames in a second.
    pub rate_pps: u64,
}

/// Runs the campaign; `progress` is called after each flap.
///
/// # Panics
/// A daemon is missing or fails, or routes do not reach the first router.
pub fn run(options: &Options, progress: impl Fn(usize)) -> Report {
    use Routing::{Linux, Ours};
    let line = Line::build(&[Ours, Linux, Ours, Linux, Ours]);
    let host = |number: u8| &line.routers[usize::from(number) - 1].host;
    let birds = [1, 4].map(|number| Bird::start(host(number), &bgp::bird(number, LAST, ""), &[]));
    let frrs = [2, 3].map(|number| Frr::start(host(number), &["bgpd"], &bgp::frr(number, LAST)));
    let last =
        Bird::start(host(LAST), &bgp::bird(LAST, LAST, ORIGIN), &[("other", &others(options))]);
    let first = &line.routers[0];
    // The way of frames, and of ICMP errors back to their source.
    first.until_route(NETWORK, "via 10.0.1.2", true);
    line.routers[4].until_route("10.1.0.0/24", "via 10.0.4.1", true);

    let before: Vec<_> = line.routers.iter().map(Drops::of).collect();
    let forwarded = passed(first, "forwarded");
    let sink = Receiver::start(&line.dst, "eth0");
    let gateway = first.host.mac("left").unwrap();
    let sender =
        Sender::start(&line.src, frame(&line.src, gateway, TARGET, 0, 0), options.rate_pps);
    let processes = processes(&line, [(1, &birds[0]), (4, &birds[1]), (LAST, &last)], &frrs);
    let cpu = processes.each_cpu();
    let begin = Instant::now();
    let mut flaps = Flaps::new(options, &line, &last, &sender);
    flaps.run(progress);
    let seconds = begin.elapsed().as_secs_f64();
    let cpu = processes.cpu_since(&cpu);
    // At the end the route is there again.
    until_all(&line, true);
    thread::sleep(SETTLE);
    let (updates, followed) = (flaps.updates, flaps.followed);
    let sent = sender.stop();
    let dropped =
        || line.routers.iter().zip(&before).map(|(one, before)| Drops::of(one).since(before));
    // Counters of frames that are still under way follow; if some are missing, the report has it.
    let _ = until("all frames", SETTLED, || {
        let ended = sink.arrived() + dropped().map(|drops| drops.total()).sum::<u64>();
        Ok((ended >= sent).then_some(()))
    });
    let drops: Vec<_> = dropped().collect();
    let in_xdp = passed(first, "forwarded") - forwarded;
    let seen = sink.stop();
    let arrived = seen.iter().filter(|arrived| **arrived).count() as u64;
    drop((birds, frrs));
    let flaps = options.flaps;
    let followed = followed.into_iter().map(|one| one.count(&seen)).collect();
    Report { flaps, updates, seconds, sent, arrived, followed, in_xdp, drops, cpu }
}

/// Withdrawals and announcements, one after another.
struct Flaps<'a> {
    options: &'a Options,
    line: &'a Line,
    origin: &'a Bird,
    sender: &'a Sender,
    rng: Rng,
    are_others_there: bool,
    /// Routes that were withdrawn or announced.
    updates: u64,
    followed: Vec<Followed>,
}

/// A flap that all routers had before the next one.
struct Followed {
    withdrawn: Duration,
    announced: Duration,
    /// Numbers of frames that were sent while all routers had the route.
    frames: Range<u64>,
}

impl<'a> Flaps<'a> {
    fn new(options: &'a Options, line: &'a Line, origin: &'a Bird, sender: &'a Sender) -> Self {
        let (rng, followed) = (Rng::new(options.seed), Vec::new());
        Self { options, line, origin, sender, rng, are_others_there: true, updates: 0, followed }
    }

    fn run(&mut self, progress: impl Fn(usize)) {
        for number in 0..self.options.flaps {
            match number % FOLLOWED {
                0 => self.follow(),
                _ => self.flap(),
            }
            self.updates += 2 + self.options.networks as u64;
            progress(number + 1);
        }
    }

    /// A flap that waits for no router.
    fn flap(&mut self) {
        self.origin.disable("flap");
        self.pause(80);
        self.change_others();
        self.pause(80);
        self.origin.enable("flap");
        // BGP takes some tens of milliseconds to the first router.
        self.pause(200);
    }

    /// A flap that waits until all routers have it.
    fn follow(&mut self) {
        // Those before may still be under way.
        until_all(self.line, true);
        let begin = Instant::now();
        self.origin.disable("flap");
        self.change_others();
        until_all(self.line, false);
        let withdrawn = begin.elapsed();
        self.pause(80);
        let begin = Instant::now();
        self.origin.enable("flap");
        until_all(self.line, true);
        let (announced, first) = (begin.elapsed(), self.sender.sent() + 1);
        self.pause(400);
        let frames = first..self.sender.sent();
        self.followed.push(Followed { withdrawn, announced, frames });
    }

    fn change_others(&mut self) {
        match self.are_others_there {
            true => self.origin.disable("others"),
            false => self.origin.enable("others"),
        }
        self.are_others_there = !self.are_others_there;
    }

    fn pause(&mut self, most_ms: usize) {
        thread::sleep(Duration::from_millis(20 + self.rng.below(most_ms) as u64));
    }
}

impl Followed {
    fn count(&self, seen: &[bool]) -> FollowedFlap {
        let arrived = |number: &u64| seen.get(*number as usize).copied().unwrap_or(false);
        FollowedFlap {
            withdrawn_s: self.withdrawn.as_secs_f64(),
            announced_s: self.announced.as_secs_f64(),
            sent: self.frames.end.saturating_sub(self.frames.start),
            arrived: self.frames.clone().filter(arrived).count() as u64,
        }
    }
}

/// Waits until all routers have the frames' route in the kernel, or none of them.
fn until_all(line: &Line, is_there: bool) {
    line.routers.iter().rev().for_each(|one| one.until_route(NETWORK, "via", is_there));
}

/// The daemons by their names.
fn processes(line: &Line, birds: [(u8, &Bird); 3], frrs: &[Frr; 2]) -> Processes {
    let mut all = Vec::new();
    for (number, bird) in birds {
        all.push((format!("r{number} bird"), bird.pid()));
    }
    for (number, frr) in [2, 3].into_iter().zip(frrs) {
        all.extend(frr.pids().map(|(name, pid)| (format!("r{number} {name}"), pid)));
    }
    for (number, router) in (1..).zip(&line.routers) {
        all.extend(router.daemon().map(|pid| (format!("r{number} xway daemon"), pid)));
    }
    Processes(all)
}

struct Processes(Vec<(String, u32)>);

impl Processes {
    fn each_cpu(&self) -> Vec<f64> {
        self.0.iter().map(|(_, pid)| cpu_seconds(*pid)).collect()
    }

    fn cpu_since(&self, before: &[f64]) -> Vec<(String, f64)> {
        let names = self.0.iter().map(|(name, _)| name.clone());
        let used = self.each_cpu().into_iter().zip(before).map(|(now, before)| now - before);
        names.zip(used).collect()
    }
}

/// Static routes of the other networks, /24 each, as BIRD includes them.
fn others(options: &Options) -> String {
    let network = |number: u32| Ipv4Addr::from(0x1e00_0000 + (number << 8));
    let line = |number| format!("route {}/24 via 10.2.0.2;\n", network(number));
    (0..options.networks as u32).map(line).collect()
}

const LAST: u8 = 5;
const TARGET: Ipv4Addr = Ipv4Addr::new(20, 0, 0, 1);
const NETWORK: &str = "20.0.0.0/24";
const ORIGIN: &str = "protocol static flap { ipv4; route 20.0.0.0/24 via 10.2.0.2; }
    protocol static others { ipv4;\ninclude \"other\";\n}\n";
/// One of this number of flaps is followed.
const FOLLOWED: usize = 4;
/// How long frames flow after the last change.
const SETTLE: Duration = Duration::from_millis(500);
/// How long the last frames may take, on a busy machine.
const SETTLED: Duration = Duration::from_secs(5);
