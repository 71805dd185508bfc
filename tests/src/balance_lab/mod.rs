//! The campaign `balance-lab`: connections of the kernel's TCP continue while the backends of a
//! balancer change and a balancer dies, under a flood of SYNs.
//!
//! ```text
//!           ┌── balancer a ──┬── s0 (service on lo) ──┐
//!  client ──┤                ├── s1                   ├── client
//!           └── balancer b ──┴── …                    ┘
//! ```
//! The client's routes spread connections over the balancers, as a router with several paths does.
//! Balancers deliver packets by MAC address or in Geneve, and backends answer the client past
//! them. Each backend knows its number, and returns it for each byte of a client. After each change
//! every connection sends a byte.
//!
//! Rule: a connection keeps the backend that it began with, unless that backend was set down.
//! Between changes some connections end and new ones begin, so that there are connections of all
//! ages. The flood goes to the same service; backends drop it by its source, because the kernel's
//! TCP would have no time for anything else.
//!
//! A balancer dies as in a power failure, while connections begin: its links go down and its
//! memory is lost. The others continue its connections, by what it sent them. A connection that
//! began in the last interval before, and broke, is counted apart: see [`Moment`].

mod backends;
mod balancer;
mod clients;
mod death;
mod flood;
mod moment;
mod net;
mod processors;
mod report;
mod server;

use std::time::{Duration, Instant};

use crate::words::number;

use backends::Backends;
use clients::Clients;
use death::Stage;
use flood::Flood;
use net::Net;
use processors::Times;

pub use moment::Moment;
pub use report::Report;
pub use server::serve;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub seed: u64,
    pub connections: usize,
    /// Changes of the backends.
    pub changes: usize,
    /// Deaths of a balancer, spread over the changes. Without any there is one balancer.
    pub deaths: usize,
    /// Connections that begin while a balancer dies, and while it returns.
    pub beginning: usize,
    pub backends: usize,
    pub delivery: Delivery,
    /// SYNs in a second; 0 for no flood.
    pub flood_pps: u64,
}

/// How packets are delivered to backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Mac,
    /// Backends open tunnels, and give segments that they have no socket for a second chance.
    Geneve,
}

impl Delivery {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Mac => "mac",
            Self::Geneve => "geneve",
        }
    }
}

impl Options {
    /// The options of a command line, and whether the result is JSON.
    ///
    /// # Errors
    /// An option is unknown, or has no number; with the usage.
    pub fn parse(words: &[String]) -> Result<(Self, bool), String> {
        let mut options = Self::default();
        let (mut json, mut words) = (false, words.iter());
        while let Some(word) = words.next() {
            let mut within =
                |low, high| Ok::<_, String>(number(&mut words, USAGE)?.clamp(low, high));
            match word.as_str() {
                "--json" => json = true,
                "--seed" => options.seed = within(0, u64::MAX)?,
                "--connections" => options.connections = within(1, 15_000)? as usize,
                "--changes" => options.changes = within(0, 10_000)? as usize,
                "--deaths" => options.deaths = within(0, 100)? as usize,
                "--backends" => options.backends = within(1, 64)? as usize,
                "--flood" => options.flood_pps = within(0, 10_000_000)?,
                "--delivery" => {
                    options.delivery = match words.next().map(String::as_str) {
                        Some("mac") => Delivery::Mac,
                        Some("geneve") => Delivery::Geneve,
                        _ => return Err(format!("unknown delivery: {USAGE}")),
                    }
                }
                _ => return Err(format!("unknown option `{word}`: {USAGE}")),
            }
        }
        options.beginning = options.connections / RENEWED;
        Ok((options, json))
    }

    /// Whether a balancer dies before this change.
    fn dies_before(&self, change: usize) -> bool {
        let pause = self.pause();
        self.deaths > 0 && change % pause == pause / 3 && change / pause < self.deaths
    }

    /// Whether the balancer that died returns before this change.
    fn returns_before(&self, change: usize) -> bool {
        let pause = self.pause();
        self.deaths > 0 && change % pause == 2 * pause / 3 && change / pause < self.deaths
    }

    /// Changes between two deaths.
    fn pause(&self) -> usize {
        (self.changes / self.deaths.max(1)).max(3)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            connections: 1000,
            changes: 20,
            deaths: 0,
            beginning: 0,
            backends: 8,
            delivery: Delivery::Mac,
            flood_pps: 100_000,
        }
    }
}

/// Runs the campaign; `progress` is called after each change.
///
/// # Panics
/// The lab or the balancer cannot be set up.
pub fn run(options: &Options, progress: impl Fn(usize)) -> Report {
    let mut net = Net::build(options);
    let servers: Vec<_> = (0..options.backends)
        .map(|number| server::start(&net, number, options.connections))
        .collect();
    let mut backends = Backends::new(options);
    for balancer in &net.balancers {
        balancer.load(&backends.text(&net), NO_WAIT);
    }
    net.balancers.iter_mut().for_each(balancer::Balancer::synchronize);
    let (begin, times) = (Instant::now(), Times::now());
    let mut clients = Clients::open(&net.client, options.connections);
    let mut flood = Flood::start(&net, options.flood_pps);
    let mut report = Report::new(options);
    report.count(&clients.check(&[], None));
    for change in 0..options.changes {
        let text = backends.text(&net);
        let beginning = options.beginning;
        let (net, flood) = (&mut net, &mut flood);
        let mut stage = Stage { net, clients: &mut clients, flood, beginning };
        let moment = if options.dies_before(change) {
            Some(stage.let_die())
        } else {
            options.returns_before(change).then(|| stage.let_return(&text))
        };
        if moment.is_some() {
            report.count(&clients.check(backends.down(), moment));
        }
        clients.renew(options.connections / RENEWED);
        backends.change();
        let start = Instant::now();
        let text = backends.text(net);
        for balancer in net.balancers.iter().filter(|one| one.is_alive()) {
            // Some changes meet a kill; whatever it left, the next one completes it.
            if backends.rng.one_in(KILLS) {
                let delay = Duration::from_micros(backends.rng.below(MOST_DELAY_US) as u64);
                report.kills += usize::from(balancer.load_and_kill(&text, delay));
            }
            balancer.load(&text, NO_WAIT);
        }
        report.slowest_change = report.slowest_change.max(start.elapsed());
        report.count(&clients.check(backends.down(), None));
        progress(change + 1);
    }
    flood.end(&net);
    report.seconds = begin.elapsed().as_secs_f64();
    report.flood = flood.sent;
    report.arrived = flood.arrived;
    report.processors = times.shares();
    report.events = net.balancers.iter().map(balancer::Balancer::events).collect();
    drop((clients, servers));
    report
}

pub const USAGE: &str = "usage: balance-lab [--connections N] [--changes N] [--deaths N] \
                         [--backends N] [--delivery mac|geneve] [--flood PPS] [--seed N] [--json]";
/// Where clients connect to.
const SERVICE: &str = "192.0.2.1";
const PORT: u16 = 80;
/// One of this number of connections begins anew between two changes.
const RENEWED: usize = 20;
/// One of this number of changes is killed first.
const KILLS: usize = 4;
/// A load takes some ten milliseconds.
const MOST_DELAY_US: usize = 60_000;
/// A balancer whose peers run no longer than it does not wait for them.
const NO_WAIT: &str = "1ms";

#[cfg(test)]
mod tests {
    use super::clients::Checked;
    use super::*;

    #[test]
    fn what_ended_without_an_announcement_is_broken() {
        let mut report = Report::new(&Options::default());
        report.count(&Checked { answered: 3, ended_at_down: 1, ..Checked::default() });
        report.count(&Checked { unsynced: vec!["reset".to_owned()], ..Checked::default() });
        assert!(report.is_whole());
        report.count(&Checked { broken: vec!["reset".to_owned()], ..Checked::default() });
        assert!(!report.is_whole());
    }

    #[test]
    fn each_death_is_followed_by_a_return() {
        for (changes, deaths) in [(100, 1), (100, 7), (10, 3), (3, 1)] {
            let options = Options { changes, deaths, ..Options::default() };
            let (mut died, mut returned) = (0, 0);
            for change in 0..changes {
                died += usize::from(options.dies_before(change));
                returned += usize::from(options.returns_before(change));
                assert!(returned <= died && died - returned <= 1, "{options:?}");
            }
            assert_eq!((died, returned), (deaths, deaths), "{options:?}");
        }
    }
}
