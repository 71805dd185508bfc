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
//! Rule: each frame arrives once, or one of the routers' counters has it. A frame without an end is
//! missing, and a second end is in excess.

pub mod follow;
mod report;
pub mod withdraw;

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use lab::until;

use crate::differential::Rng;
use crate::routing::{
    Bird, Drops, Frr, Line, LineRouter, Receiver, Routing, Sender, bgp, frame, passed,
};

pub use report::Report;

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
    let begin = Instant::now();
    let updates = flap(options, first, &last, progress);
    let seconds = begin.elapsed().as_secs_f64();
    // At the end the route is there again.
    first.until_route(NETWORK, "via 10.0.1.2", true);
    thread::sleep(SETTLE);
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
    let arrived = sink.stop().into_iter().filter(|arrived| *arrived).count() as u64;
    drop((birds, frrs));
    Report { flaps: options.flaps, updates, seconds, sent, arrived, in_xdp, drops }
}

/// Withdraws and announces; returns the number of routes that were withdrawn or announced.
fn flap(options: &Options, first: &LineRouter, origin: &Bird, progress: impl Fn(usize)) -> u64 {
    let mut rng = Rng::new(options.seed);
    let (mut updates, mut are_others_there) = (0, true);
    for number in 0..options.flaps {
        let mut pause =
            |most: usize| thread::sleep(Duration::from_millis(20 + rng.below(most) as u64));
        origin.disable("flap");
        pause(80);
        match are_others_there {
            true => origin.disable("others"),
            false => origin.enable("others"),
        }
        are_others_there = !are_others_there;
        pause(80);
        origin.enable("flap");
        // BGP takes some tens of milliseconds to the first router.
        pause(200);
        // Otherwise few frames arrive while thousands of other routes are under way.
        if number.is_multiple_of(4) {
            first.until_route(NETWORK, "via 10.0.1.2", true);
            pause(200);
        }
        updates += 2 + options.networks as u64;
        progress(number + 1);
    }
    updates
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
/// How long frames flow after the last change.
const SETTLE: Duration = Duration::from_millis(500);
/// How long the last frames may take, on a busy machine.
const SETTLED: Duration = Duration::from_secs(5);
