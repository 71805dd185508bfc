//! The campaign `balance-lab`: connections of the kernel's TCP continue while the backends of a
//! balancer change, under a flood of SYNs.
//!
//! ```text
//!                       ┌── s0 (service on lo)
//!  client ── balancer ──┼── s1
//!                       └── …
//! ```
//! Backends get packets by their MAC address and answer the client through the balancer's host,
//! past the balancer. Each knows its number, and returns it for each byte of a client. After each
//! change every connection sends a byte.
//!
//! Rule: a connection keeps the backend that it began with, unless that backend was set down.
//! Between changes some connections end and new ones begin, so that there are connections of all
//! ages. The flood goes to the same service; backends drop it by its source, because the kernel's
//! TCP would have no time for anything else.

mod clients;
mod net;
mod report;
mod server;

use std::time::{Duration, Instant};

use crate::differential::Rng;
use crate::xway::Xway;

use clients::Clients;
use net::Net;

pub use report::Report;
pub use server::serve;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub seed: u64,
    pub connections: usize,
    /// Changes of the backends.
    pub changes: usize,
    pub backends: usize,
    /// SYNs in a second; 0 for no flood.
    pub flood_pps: u64,
}

/// Runs the campaign; `progress` is called after each change.
///
/// # Panics
/// The lab or the balancer cannot be set up.
pub fn run(options: &Options, progress: impl Fn(usize)) -> Report {
    let net = Net::build(options.backends);
    let servers: Vec<_> = (0..options.backends)
        .map(|number| server::start(&net, number, options.connections))
        .collect();
    let mut backends = Backends::new(options);
    let xway = Xway::new();
    net.load(&xway, &backends.text(&net)).ended(0);
    let begin = Instant::now();
    let mut clients = Clients::open(&net.client, options.connections);
    let flood = (options.flood_pps > 0).then(|| net.flood(options.flood_pps));
    let mut report = Report::new(options);
    report.count(&clients.check(&[]));
    for change in 0..options.changes {
        clients.renew(options.connections / RENEWED);
        let down = backends.change();
        let start = Instant::now();
        let text = backends.text(&net);
        // Some changes meet a kill; whatever it left, the next one completes it.
        if backends.rng.one_in(KILLS) {
            let delay = Duration::from_micros(backends.rng.below(MOST_DELAY_US) as u64);
            report.kills += usize::from(net.load_and_kill(&xway, &text, delay));
        }
        net.load(&xway, &text).ended(0);
        report.slowest_change = report.slowest_change.max(start.elapsed());
        report.count(&clients.check(&down));
        progress(change + 1);
    }
    report.seconds = begin.elapsed().as_secs_f64();
    report.flood = flood.map_or(0, net::Flood::end);
    report.events = net.events(&xway);
    drop((clients, servers));
    report
}

/// What the backends are, and how they change.
#[derive(Debug)]
struct Backends {
    rng: Rng,
    /// Weight of each; 0 for one that is not in the file.
    weights: Vec<u16>,
    states: Vec<&'static str>,
}

impl Backends {
    fn new(options: &Options) -> Self {
        let rng = Rng::new(options.seed);
        Self { rng, weights: vec![1; options.backends], states: vec!["up"; options.backends] }
    }

    /// Changes one or two backends. At least one remains, so that the service always has one.
    /// Returns those that were set down, whose connections end.
    fn change(&mut self) -> Vec<u8> {
        for _ in 0..1 + self.rng.below(2) {
            let one = self.rng.below(self.weights.len());
            match self.rng.below(6) {
                0 | 1 => self.weights[one] = 0,
                2 => self.weights[one] = 1 + self.rng.below(4) as u16,
                3 => self.states[one] = "drain",
                4 => self.states[one] = "down",
                _ => (self.weights[one], self.states[one]) = (1, "up"),
            }
        }
        let is_in_use = |number: usize| self.weights[number] > 0 && self.states[number] == "up";
        if !(0..self.weights.len()).any(is_in_use) {
            (self.weights[0], self.states[0]) = (1, "up");
        }
        let is_down = |number: &usize| self.weights[*number] > 0 && self.states[*number] == "down";
        (0..self.weights.len()).filter(is_down).map(|number| number as u8).collect()
    }

    /// The file of services.
    fn text(&self, net: &Net) -> String {
        let rows = (0..self.weights.len()).filter(|number| self.weights[*number] > 0);
        let rows = rows.map(|number| {
            let (weight, state) = (self.weights[number], self.states[number]);
            let address = net.address(number);
            format!("    {{ address = '{address}', weight = {weight}, state = '{state}' }},\n")
        });
        format!(
            "key = 'of the lab'\n[[service]]\nname = 'web'\naddress = '{SERVICE}'\n\
             protocol = 'tcp'\nport = {PORT}\ndelivery = 'mac'\nbackend = [\n{}]\n",
            rows.collect::<String>()
        )
    }
}

/// Where clients connect to.
const SERVICE: &str = "192.0.2.1";
const PORT: u16 = 80;
/// One of this number of connections begins anew between two changes.
const RENEWED: usize = 20;
/// One of this number of changes is killed first.
const KILLS: usize = 4;
/// A load takes some ten milliseconds.
const MOST_DELAY_US: usize = 60_000;

#[cfg(test)]
mod tests {
    use super::clients::Checked;
    use super::*;

    #[test]
    fn a_service_always_has_a_backend() {
        let options = Options { seed: 7, connections: 0, changes: 0, backends: 3, flood_pps: 0 };
        let mut backends = Backends::new(&options);
        for _ in 0..1000 {
            let down = backends.change();
            let in_use = (0..3).filter(|n| backends.weights[*n] > 0 && backends.states[*n] == "up");
            let in_use: Vec<_> = in_use.collect();
            assert!(!in_use.is_empty());
            assert!(down.iter().all(|number| !in_use.contains(&usize::from(*number))));
        }
    }

    #[test]
    fn what_ended_without_an_announcement_is_broken() {
        let mut report = Report::new(&Options {
            seed: 1,
            connections: 3,
            changes: 1,
            backends: 2,
            flood_pps: 0,
        });
        report.count(&Checked { answered: 3, ended_at_down: 1, broken: Vec::new() });
        assert!(report.is_whole());
        report.count(&Checked { answered: 2, ended_at_down: 0, broken: vec!["reset".to_owned()] });
        assert!(!report.is_whole());
    }
}
