//! The guards of one phase: the stage of the lab, the flood, and the filter on its server.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bench::field::{Attack, SOURCES};
use bench::hook::filter::{LIMIT_RULES, object, parsed};
use control::counters::Counters;
use control::filter::report::{FilterReport, LoadedRules, Reading};
use filter::runtime::actions;
use filter::{PROGRAM, Rule, maps};
use kernel::{Attach, Mode, Object, Replace};
use lab::stage::{ATTACKER_LINK, Clients, FLOOD_PORT, SERVER_LINK, batch};
use spec::Verdict;
use traffic::Rate;
use traffic::generator::{self, Generator, Load};

use super::phase::Phase;

/// The lab's stage, and how fast its attacker is.
#[derive(Debug)]
pub struct Stage {
    stage: lab::Stage,
    rate_pps: u64,
}

/// Programs and traffic of one phase. Dropping it restores the interface and ends the traffic.
#[derive(Debug)]
pub struct Scene<'a> {
    flood: Option<Generator>,
    clients: Clients,
    shield: Option<Shield>,
    stage: &'a lab::Stage,
}

/// The filter on the server's interface.
#[derive(Debug)]
struct Shield {
    _link: kernel::Link,
    object: Object,
    mode: Mode,
    counters: Counters,
    given: LoadedRules,
    since: Instant,
}

/// Totals since the scene began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub answers: u64,
    pub offered: u64,
    pub dropped: u64,
    /// Processor time of the server's receive threads.
    pub receive_ns: u64,
}

impl Stage {
    pub fn build(rate_pps: u64) -> Result<Self> {
        Ok(Self { stage: lab::Stage::build()?, rate_pps })
    }

    /// How it was done, for the reader to judge.
    pub fn placement(&self) -> String {
        let (placement, rate_pps) = (self.stage.placement(), self.rate_pps);
        format!(
            "{placement} The attacker sends {rate_pps} frames a second of 60 bytes, in batches of \
             {}, to UDP port {FLOOD_PORT}, each from another one of {SOURCES} invented addresses. \
             The same in all phases.",
            batch(rate_pps),
        )
    }

    /// Starts a phase: the shield first, then fresh connections, then the flood.
    pub fn play(&self, phase: Phase, time: Duration) -> Result<Scene<'_>> {
        let shield = phase.mode().map(|mode| self.shield(mode)).transpose()?;
        let clients = self.stage.clients()?;
        let flood = phase.flooded().then(|| self.flood(time)).transpose()?;
        Ok(Scene { flood, clients, shield, stage: &self.stage })
    }

    fn shield(&self, mode: Mode) -> Result<Shield> {
        let server = &self.stage.net.server;
        let file = parsed(LIMIT_RULES)?;
        let object = object(&file)?;
        let program = object.program(PROGRAM)?;
        let counters = Counters::of(program)?.context("the filter does not count")?;
        let ifindex = server.ifindex(SERVER_LINK)?;
        let attach = Attach { ifindex, program, mode, replace: Replace::No };
        let link = server.run(|| kernel::attach(&attach))??;
        let texts = file.ruleset.rules.iter().map(Rule::body).collect();
        let given =
            LoadedRules { rules: file.ruleset, sets: file.scope.sets, texts, left: Vec::new() };
        Ok(Shield { _link: link, object, mode, counters, given, since: Instant::now() })
    }

    fn flood(&self, time: Duration) -> Result<Generator> {
        let load = Load::Streams(vec![Attack::Udp.template(&self.stage)?]);
        let config = generator::Config {
            profile: Rate::PacketsPerSecond(self.rate_pps as f64).into(),
            batch: Some(batch(self.rate_pps)),
            duration: Some(time + FLOOD_SPARE),
            cpus: vec![self.stage.attacker_cpu],
            ..generator::Config::new(ATTACKER_LINK, load)
        };
        let flood = self.stage.net.attacker.run(|| Generator::start(config))??;
        lab::until("the flood", FLOOD_START, || Ok((flood.given() > 0).then_some(())))?;
        Ok(flood)
    }
}

impl Scene<'_> {
    pub fn totals(&self) -> Result<Totals> {
        let dropped = match &self.shield {
            Some(shield) => shield.counters.read()?.verdict(Verdict::Drop).packets,
            None => 0,
        };
        Ok(Totals {
            answers: self.clients.answers(),
            offered: self.flood.as_ref().map_or(0, Generator::given),
            dropped,
            receive_ns: self.stage.receive_ns()?,
        })
    }

    /// Counts of the filter's rules so far, as `filter show` reports them.
    pub fn filter(&self) -> Result<Option<FilterReport>> {
        self.shield.as_ref().map(Shield::shown).transpose()
    }

    /// Connections that the clients had to make anew.
    pub fn reconnects(&self) -> u64 {
        self.clients.reconnects()
    }
}

impl Shield {
    fn shown(&self) -> Result<FilterReport> {
        let map = self.object.map(maps::COUNTS)?;
        let rules = 0..self.given.rules.rules.len() as u32;
        let rules = rules.map(|rule| Ok(actions::count(map, rule)?)).collect::<Result<_>>()?;
        let id = self.object.program(PROGRAM)?.id();
        let events = actions::events(self.object.map(maps::EVENTS)?)?;
        let now = Reading { rules, counts: self.counters.read()?, events };
        let head = (SERVER_LINK, self.mode.name(), id);
        let seconds = self.since.elapsed().as_secs_f64();
        Ok(FilterReport::new(head, &self.given, (&Reading::default(), &now), seconds))
    }
}

/// The flood ends by its guard; this is its own bound.
const FLOOD_SPARE: Duration = Duration::from_secs(10);
/// The kernel makes a page pool and waits for a grace period before the first frame.
const FLOOD_START: Duration = Duration::from_secs(5);
