//! A service while ten million invented addresses flood its host: with the filter it lives, without
//! it does not.
//!
//! ```text
//! clients ──┐
//!           ├── br0 ─ up0 ══════ eth0: filter ─▶ stack ─▶ service
//! attacker ─┘
//! ```
//! Clients and service share the processor that receives, the attacker has another one. The rate of
//! the service is compared with its rate without an attack, so this is a part of `make soak` and
//! not of `make test`, whose tests assert no rates; `filter_liveness` tests there that a service
//! remains reachable. A run in which other work kept the attacker from its processor is repeated.
#![allow(clippy::print_stdout, reason = "a scenario reports its values")]

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use bench::field::{Attack, SOURCES};
use bench::hook::answers::Answers;
use bench::hook::filter::{LIMIT_RULES, PROXY_RULES};
use lab::Stage;
use lab::stage::{ATTACKER_LINK, COOKIES, Clients, SERVER_LINK, batch};
use serde_json::Value;
use traffic::Rate;
use traffic::generator::{Config, Generator, Load};
use xway_tests::xway::Xway;

/// One attack, and what stops it.
#[derive(Clone, Copy)]
struct Scenario {
    attack: Attack,
    rate_pps: u64,
    /// A lower rate does not count as an attack.
    least_pps: u64,
    rules: &'static str,
    /// Sets the server up to be flooded without the rules, then as the rules want it.
    plain: fn(&Siege),
    ready: fn(&Siege),
    clients: fn(&Stage) -> lab::Result<Clients>,
    /// Steps with the active filter and served clients: before the flood, and after it.
    before: fn(&Siege),
    after: fn(&Siege),
}

/// Transactions a second.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    quiet: f64,
    without: f64,
    with: f64,
    /// Frames of the attacker against the filter.
    sent: u64,
}

/// Fields are dropped in the order in which they stand.
struct Siege {
    answers: OnceCell<Answers>,
    stage: Stage,
    xway: Xway,
}

impl Siege {
    fn new() -> Self {
        let stage = Stage::build().unwrap();
        Self { answers: OnceCell::new(), stage, xway: Xway::new() }
    }

    /// Loads rules on the server.
    fn load(&self, rules: &str) {
        let path = self.xway.state().join("rules.toml");
        std::fs::write(&path, rules).unwrap();
        let words = ["filter", "load", SERVER_LINK, path.to_str().unwrap()];
        self.xway.run_in(&self.stage.net.server, &words).ended(0);
    }

    fn show(&self) -> Value {
        let words = ["--json", "filter", "show", SERVER_LINK, "--interval", "1ms"];
        self.xway.run_in(&self.stage.net.server, &words).json(0)
    }

    fn open_the_way_back(&self) {
        self.answers.set(Answers::end(&self.stage).unwrap()).unwrap();
    }

    fn set_cookies(&self, value: &str) {
        self.stage.net.server.set_sysctl(COOKIES, value).unwrap();
    }

    fn event(&self, name: &str) -> u64 {
        event(&self.show(), name)
    }

    /// Held; bounded in frames and time.
    fn attacker(&self, scenario: &Scenario) -> Generator {
        let load = Load::Streams(vec![scenario.attack.template(&self.stage).unwrap()]);
        let config = Config {
            profile: Rate::PacketsPerSecond(scenario.rate_pps as f64).into(),
            batch: Some(batch(scenario.rate_pps)),
            count: Some(3 * u64::from(SOURCES)),
            duration: Some(LONGEST),
            cpus: vec![self.stage.attacker_cpu],
            held: true,
            ..Config::new(ATTACKER_LINK, load)
        };
        self.stage.net.attacker.run(|| Generator::start(config)).unwrap().unwrap()
    }

    fn clients(&self, scenario: &Scenario) -> Clients {
        let clients = (scenario.clients)(&self.stage).unwrap();
        let all = lab::stage::CLIENTS as u64;
        lab::until("answers", PATIENCE, || Ok((clients.answers() >= all).then_some(()))).unwrap();
        clients
    }

    /// Quiet, then flooded without the filter and with it, by every address once. `Err` is the
    /// attacker's rate if it was too low for an attack.
    fn measure(&self, scenario: &Scenario) -> Result<Measured, f64> {
        (scenario.plain)(self);
        let quiet = median(&self.clients(scenario), || false, 3);
        let flood = self.attacker(scenario);
        let clients = self.clients(scenario);
        let (begun, start) = (flood.given(), Instant::now());
        let is_attack = |begun: u64, start: Instant| {
            let offered_pps = (flood.given() - begun) as f64 / start.elapsed().as_secs_f64();
            if offered_pps < scenario.least_pps as f64 { Err(offered_pps) } else { Ok(()) }
        };
        flood.go();
        lab::until("the flood", PATIENCE, || Ok((flood.given() > 0).then_some(()))).unwrap();
        let without = median(&clients, || false, 3);
        flood.hold();
        is_attack(begun, start)?;
        drop(clients);
        (scenario.ready)(self);
        self.load(scenario.rules);
        let clients = self.clients(scenario);
        (scenario.before)(self);
        let (begun, start) = (flood.given(), Instant::now());
        flood.go();
        let all_came = || flood.given() - begun >= u64::from(SOURCES);
        // One that is starved is given up soon, so that the next can be tried.
        let is_starved = || start.elapsed() > FAIR && is_attack(begun, start).is_err();
        let with = median(&clients, || all_came() || is_starved(), MOST_WINDOWS);
        is_attack(begun, start)?;
        let sent = flood.given() - begun;
        flood.stop().unwrap();
        drop(clients);
        Ok(Measured { quiet, without, with, sent })
    }
}

/// Median of the transactions per second in windows, until it is over or there were `most` of them.
fn median(clients: &Clients, is_over: impl Fn() -> bool, most: usize) -> f64 {
    let mut rates = Vec::new();
    while rates.len() < most && !is_over() {
        let (start, before) = (Instant::now(), clients.answers());
        std::thread::sleep(WINDOW);
        rates.push((clients.answers() - before) as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Repeats a scenario until it succeeds; returns the filter's counters. A starved attacker may be
/// repeated more often than a failed scenario.
fn holds(scenario: &Scenario) -> Value {
    let (mut all, mut starved) = (Vec::new(), Vec::new());
    while all.len() < TRIES && starved.len() < MOST_STARVED {
        let siege = Siege::new();
        let told = match siege.measure(scenario) {
            Ok(told) => told,
            Err(offered_pps) => {
                println!("told again: the attacker came to {offered_pps:.0} packets a second");
                starved.push(offered_pps.round());
                continue;
            }
        };
        println!("{:?}: {told:?}", scenario.attack);
        assert!(told.sent >= u64::from(SOURCES), "not every address had its turn: {told:?}");
        if told.with >= KEPT * told.quiet && told.without <= LEFT * told.with {
            let shown = siege.show();
            (scenario.after)(&siege);
            return shown;
        }
        all.push(told);
    }
    let Scenario { rate_pps, least_pps, .. } = scenario;
    assert!(
        starved.len() < MOST_STARVED,
        "this machine cannot tell the scenario: other work kept the attacker from his processor in \
         {MOST_STARVED} tries, of {rate_pps} packets a second, of which {least_pps} are enough, he \
         came to {starved:?}; run it where two processors are free"
    );
    panic!("it never came out: {all:?}");
}

fn packets(shown: &Value, list: &str, key: &str, name: &str) -> u64 {
    let all = shown[list].as_array().unwrap().iter();
    let found = all.filter(|one| one[key] == name).filter_map(|one| one["packets"].as_u64());
    found.sum()
}

fn event(shown: &Value, name: &str) -> u64 {
    let mut all = shown["events"].as_array().unwrap().iter();
    all.find(|one| one["name"] == name).and_then(|one| one["count"].as_u64()).unwrap_or(0)
}

#[test]
#[ignore = "compares rates; `cargo xtask soak --only flood` runs it"]
fn a_flood_of_udp_from_ten_million_addresses() {
    let scenario = Scenario {
        attack: Attack::Udp,
        rate_pps: 1_000_000,
        least_pps: 500_000,
        rules: LIMIT_RULES,
        plain: |_| {},
        ready: |_| {},
        clients: Stage::clients,
        before: |_| {},
        after: |_| {},
    };
    let shown = holds(&scenario);
    let limited = packets(&shown, "reasons", "reason", "limited");
    let met = packets(&shown, "rules", "name", "udp");
    assert!(met >= u64::from(SOURCES) / 2, "{shown:#}");
    assert!(limited >= met / 10 * 9, "the limits take nearly all of it: {shown:#}");
    assert!(packets(&shown, "rules", "name", "service") > 0, "{shown:#}");
}

/// Every transaction has a connection of its own: the opening of connections is tested. Without the
/// proxy and without cookies of the stack (`tcp_syncookies` 0) the listener's queue is full of
/// requests that are never completed, at any rate. With 1, the kernel's default, the stack sends
/// cookies itself, and fails only if the flood takes its processor: that is for measurements.
#[test]
#[ignore = "compares rates; `cargo xtask soak --only flood` runs it"]
fn a_flood_of_connection_requests_from_ten_million_addresses() {
    let scenario = Scenario {
        attack: Attack::Syn,
        rate_pps: 500_000,
        least_pps: 50_000,
        rules: PROXY_RULES,
        plain: |siege| {
            siege.open_the_way_back();
            siege.set_cookies("0");
        },
        ready: |siege| siege.set_cookies("2"),
        clients: Stage::newcomers,
        before: |siege| assert_eq!(siege.event("cookie-sent"), 0, "the proxy rests at first"),
        after: the_proxy_rests,
    };
    let shown = holds(&scenario);
    let answered = event(&shown, "cookie-sent");
    assert!(answered >= u64::from(SOURCES) / 2, "{shown:#}");
    assert!(event(&shown, "cookie-good") > 0, "{shown:#}");
    assert_eq!(event(&shown, "cookie-failed"), 0, "{shown:#}");
}

/// Ten seconds after the last one with too many requests, connections are the stack's again.
fn the_proxy_rests(siege: &Siege) {
    // A new listener takes no cookie before it has seen a request, of which one a second passes.
    let newcomers = || Ok(siege.stage.newcomers().ok());
    let clients = lab::until("a listener that takes cookies", PATIENCE, newcomers).unwrap();
    lab::until("requests that pass the proxy", PATIENCE, || {
        let (before, answers) = (siege.event("cookie-sent"), clients.answers());
        lab::until("a hundred transactions", PATIENCE, || {
            Ok((clients.answers() >= answers + 100).then_some(()))
        })?;
        Ok((siege.event("cookie-sent") == before).then_some(()))
    })
    .unwrap();
}

/// Minimum share of the quiet transactions. The demo measures shares by rate.
const KEPT: f64 = 0.25;
/// Maximum share, of the rate with the filter, of a service that fails.
const LEFT: f64 = 0.25;
/// Attempts after failed scenarios, and after those without an attacker.
const TRIES: usize = 3;
const MOST_STARVED: usize = 30;
/// Time in which an attacker who gets his processor shows it.
const FAIR: Duration = Duration::from_secs(4);
/// Ends a flood that is slower than it should be, and what is measured of it.
const LONGEST: Duration = Duration::from_secs(150);
const MOST_WINDOWS: usize = 100;
const WINDOW: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);
