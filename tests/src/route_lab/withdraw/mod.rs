//! The campaign `route-lab withdraw`: BIRD withdraws the better of two routes while a flood passes
//! the router, which is ours with `xway daemon`, ours without it, or the kernel.
//!
//! Each has a testbed of its own ([`Fork`]); rounds alternate between them, so that all share the
//! noise of the machine.
//!
//! Rule: frames are counted where they arrive, by a program. What neither next hop received was
//! lost on the way, by a full ring or by the kernel.

mod report;

use std::net::Ipv4Addr;
use std::thread::JoinHandle;
use std::time::Duration;

use lab::until;
use sys::net::RouteEvents;
use sys::poll::{self, Watch};
use sys::thread::monotonic_ns;
use traffic::generator::{Config, Generator, Load};
use traffic::template::Template;

use crate::routing::{Arrivals, Fork, Routing, frame};
use crate::stage::PATIENCE;

pub use report::Report;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub rounds: usize,
    /// Frames of the flood in each round.
    pub frames: u64,
    pub rate_pps: u64,
}

/// One withdrawal.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Frames that the sender's driver accepted, and their rate.
    pub sent: u64,
    pub pps: f64,
    /// Frames that came to the next hop that withdrew its route, after `birdc` was called, and
    /// after the kernel had reported the new route to a process that waited for it.
    pub old_after_call: u64,
    pub old_after_notice: u64,
    /// From the kernel's report until the last frame came to the old next hop; negative if that
    /// was before.
    pub switched_us: f64,
    /// Frames that came to neither next hop.
    pub lost: u64,
}

/// Who forwards, in the order of reports.
pub const ARMS: [(&str, Routing); 3] =
    [("followed", Routing::Ours), ("unfollowed", Routing::Unfollowed), ("linux", Routing::Linux)];

/// Runs the campaign; `progress` is called after each round.
///
/// # Panics
/// BIRD is missing or fails, or the testbed cannot be built.
pub fn run(options: &Options, progress: impl Fn(usize)) -> Report {
    let beds = ARMS.map(|(_, routing)| Testbed::build(routing));
    let mut rounds = ARMS.map(|_| Vec::new());
    for number in 0..options.rounds {
        for place in 0..ARMS.len() {
            // Each is first in turn.
            let arm = (number + place) % ARMS.len();
            rounds[arm].push(beds[arm].round(options));
        }
        progress(number + 1);
    }
    Report { rounds }
}

struct Testbed {
    fork: Fork,
    arrivals: [Arrivals; 2],
}

impl Testbed {
    fn build(routing: Routing) -> Self {
        let fork = Fork::build(routing, NETWORK, false);
        let arrivals = [0, 1].map(|place| Arrivals::attach(&fork.hosts[place], TARGET));
        Self { fork, arrivals }
    }

    fn round(&self, options: &Options) -> Round {
        let ([up, down], router) = (&self.arrivals, &self.fork.router);
        let before = [up, down].map(|one| one.now().frames);
        let notice = self.notice();
        let generator = self.flood(options);
        let begun = || Ok((up.now().frames > before[0] + options.frames / 10).then_some(()));
        until("the flood at the first next hop", PATIENCE, begun).unwrap();
        let called = up.now().frames;
        self.fork.peers[0].disable("flap");
        let notice = notice.join().unwrap().unwrap();
        let report = generator.wait().unwrap();
        let sent = report.totals.sent;
        let arrived =
            || [up, down].iter().zip(before).map(|(one, before)| one.now().frames - before).sum();
        // Frames that still are in a ring; those that were dropped do not come.
        let _ = until("all frames", SETTLED, || Ok((arrived() >= sent).then_some(())));
        let arrived: u64 = arrived();
        assert!(down.now().frames > before[1], "the flood was over before the withdrawal");
        router.until_route(NETWORK, "via 10.0.2.2", true);
        let last = up.now();
        self.fork.peers[0].enable("flap");
        router.until_route(NETWORK, "via 10.0.1.2", true);
        Round {
            sent,
            pps: report.pps,
            old_after_call: last.frames - called,
            old_after_notice: last.frames - notice.frames.min(last.frames),
            switched_us: (last.last_ns as f64 - notice.at_ns as f64) / 1000.0,
            lost: sent - arrived.min(sent),
        }
    }

    /// Starts to send; the generator runs on one processor, and so do all that receive.
    fn flood(&self, options: &Options) -> Generator {
        let gateway = self.fork.router.host.mac("left").unwrap();
        let frame = frame(&self.fork.src, gateway, TARGET, 0, 0);
        let template = Template { headers: 42, ..Template::constant("flood", frame) };
        let config = Config {
            profile: format!("{}pps", options.rate_pps).parse().unwrap(),
            count: Some(options.frames),
            duration: Some(PATIENCE),
            ..Config::new("eth0", Load::Streams(vec![template]))
        };
        self.fork.src.run(|| Generator::start(config)).unwrap().unwrap()
    }

    /// Waits, in a thread, for the next change of a route.
    fn notice(&self) -> JoinHandle<Option<Notice>> {
        let frames = self.arrivals[0].reader();
        let wait = move || {
            let mut events = RouteEvents::open().unwrap();
            events.listen().unwrap();
            // Before changes, it reads what there is.
            while events.deciding().is_none() || events.is_behind() {
                wait(&mut events);
            }
            let changed = until("a notice of the kernel", PATIENCE, || {
                Ok(wait(&mut events).then(|| Notice { frames: frames(), at_ns: monotonic_ns() }))
            });
            changed.unwrap()
        };
        self.fork.router.host.spawn(wait).unwrap()
    }
}

/// When the kernel reported the new route.
#[derive(Clone, Copy, Debug)]
struct Notice {
    /// Frames that had come to the old next hop.
    frames: u64,
    at_ns: u64,
}

/// Waits a while for events; whether anything changed.
fn wait(events: &mut RouteEvents) -> bool {
    poll::wait(&mut [Watch::readable(events.fd())], Some(Duration::from_millis(100))).unwrap();
    events.take().unwrap()
}

const TARGET: Ipv4Addr = Ipv4Addr::new(20, 0, 0, 1);
const NETWORK: &str = "20.0.0.0/24";
/// How long frames may remain in a ring, on a busy machine.
const SETTLED: Duration = Duration::from_secs(1);
