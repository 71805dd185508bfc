//! The campaign `route-lab follow`: how many changes of routes `xway daemon` follows, and what that
//! costs.
//!
//! Rule: the daemon's figures are its own processor time (`/proc/PID/stat`) and the messages that
//! the kernel dropped because its socket was full (`/proc/net/netlink`).

use std::fmt;
use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use lab::until;
use serde_json::{Value, json};
use sys::net::NewRoute;

use crate::routing::{Line, Routing, cpu_seconds, netlink_drops};
use crate::stage::PATIENCE;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Routes that are added.
    pub routes: u32,
    /// Routes in a second; 0 for as many as the kernel takes.
    pub rate: u32,
}

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub routes: u32,
    /// Until all were added, and until the daemon had read of all.
    pub added_s: f64,
    pub followed_s: f64,
    /// Processor time of the daemon.
    pub cpu_s: f64,
    /// Messages that the kernel dropped.
    pub dropped: u64,
}

/// Runs the campaign.
///
/// # Panics
/// The testbed cannot be built, or the daemon does not follow.
pub fn run(options: &Options) -> Report {
    let line = Line::build(&[Routing::Ours]);
    let router = &line.routers[0];
    let daemon = router.daemon().expect("a daemon that runs");
    let mut netlink = router.host.netlink().unwrap();
    let out = router.host.ifindex("right").unwrap();
    let route = |number: u32| {
        let to = Ipv4Addr::from(0x1e00_0000 + (number << 8));
        NewRoute::new(to.into(), 24, out).via(Ipv4Addr::new(10, 2, 0, 2).into())
    };
    // Then settings decide, too, by which fields packets are distinguished.
    router.ip("route add 20.9.0.0/24 nexthop via 10.2.0.2 nexthop via 10.2.0.3");
    let routes: Vec<_> = (0..options.routes).map(route).collect();
    // It has read what there was at the start.
    until("trust", PATIENCE, || Ok(router.trusts().then_some(()))).unwrap();
    let (cpu, dropped, begin) = (cpu_seconds(daemon), netlink_drops(router), Instant::now());
    let part = if options.rate == 0 { PART } else { (options.rate / PARTS).max(1) as usize };
    for (number, some) in (0..).zip(routes.chunks(part)) {
        if options.rate > 0 {
            let due = Duration::from_secs(1) / PARTS * number;
            thread::sleep(due.saturating_sub(begin.elapsed()));
        }
        netlink.add_routes(some).unwrap();
    }
    let added_s = begin.elapsed().as_secs_f64();
    // It is trusted again after it has read everything.
    until("trust", PATIENCE, || {
        thread::sleep(Duration::from_millis(1));
        Ok(router.trusts().then_some(()))
    })
    .unwrap();
    let followed_s = begin.elapsed().as_secs_f64();
    Report {
        routes: options.routes,
        added_s,
        followed_s,
        cpu_s: cpu_seconds(daemon) - cpu,
        dropped: netlink_drops(router) - dropped,
    }
}

impl Report {
    fn per_second(&self) -> f64 {
        f64::from(self.routes) / self.followed_s
    }

    fn cpu_us(&self) -> f64 {
        self.cpu_s * 1e6 / f64::from(self.routes)
    }

    pub fn json(&self) -> Value {
        json!({
            "routes": self.routes,
            "added_s": self.added_s,
            "followed_s": self.followed_s,
            "messages_per_s": self.per_second(),
            "cpu_s": self.cpu_s,
            "cpu_us_per_message": self.cpu_us(),
            "dropped": self.dropped,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { routes, added_s, followed_s, cpu_s, dropped } = self;
        write!(
            f,
            "{routes} routes in {added_s:.2} s, followed in {followed_s:.2} s ({:.0}/s); \
             daemon {cpu_s:.2} s of CPU ({:.2} us each); {dropped} messages dropped",
            self.per_second(),
            self.cpu_us()
        )
    }
}

/// Routes of one call of the kernel, without a rate.
const PART: usize = 1000;
/// Parts in a second, with a rate.
const PARTS: u32 = 200;
