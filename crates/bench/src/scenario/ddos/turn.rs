//! One defence under one flood, and what the clients made of it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use lab::stage::{self, Clients};
use traffic::generator::{Config, Load};
use traffic::{Rate, Template};

use super::Siege;
use crate::field::Flood;
use crate::harness::Value;
use crate::hook::{Hook, Set};

#[derive(Clone, Copy)]
pub struct Turn<'a> {
    pub siege: &'a Siege,
    pub hook: &'static Hook,
    /// Frames a second; 0 for no flood, none for all that can be sent.
    pub rate: Option<u64>,
}

/// Rates over one window.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub answers: f64,
    pub offered: f64,
    /// Frames that ended in the defence.
    pub ended: f64,
}

/// Totals at one moment.
struct Look {
    at: Instant,
    answers: u64,
    offered: u64,
    ended: u64,
}

impl Turn<'_> {
    /// Sets everything up, measures, and takes it down again.
    pub fn take(&self, window: Duration) -> Result<Outcome> {
        let set = (self.hook.set)(&self.siege.field)?;
        let clients = self.siege.stage.clients()?;
        lab::until("answers to every client", PATIENCE, || {
            Ok((clients.answers() >= stage::CLIENTS as u64).then_some(()))
        })?;
        let settle = SETTLE.min(window / 2);
        let flood = (self.rate != Some(0)).then(|| self.flood(settle + window)).transpose()?;
        sleep(settle);
        let look = || Look::at(&clients, flood.as_ref(), set.as_ref());
        let before = look()?;
        sleep(window);
        Ok(Outcome::between(&before, &look()?))
    }

    fn flood(&self, longest: Duration) -> Result<Flood> {
        let Siege { stage, field } = self.siege;
        let frame = Template::constant("flood", stage.attack()?);
        let (profile, batch) = match self.rate {
            Some(pps) => (Rate::PacketsPerSecond(pps as f64), stage::batch(pps)),
            None => (Rate::Max, stage::batch(u64::MAX)),
        };
        let config = Config {
            profile: profile.into(),
            batch: Some(batch),
            cpus: vec![stage.attacker_cpu],
            ..Config::new(field.sender.device(), Load::Streams(vec![frame]))
        };
        Flood::of(&field.sender, config, longest)
    }
}

impl Look {
    fn at(clients: &Clients, flood: Option<&Flood>, set: &dyn Set) -> Result<Self> {
        let offered = flood.map_or(0, Flood::given);
        let (at, answers) = (Instant::now(), clients.answers());
        Ok(Self { at, answers, offered, ended: set.ended()? })
    }
}

impl Outcome {
    fn between(before: &Look, after: &Look) -> Self {
        let seconds = (after.at - before.at).as_secs_f64();
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        Self {
            answers: rate(after.answers, before.answers),
            offered: rate(after.offered, before.offered),
            ended: rate(after.ended, before.ended),
        }
    }

    /// Rows of a point; without a flood there is nothing to lose.
    pub fn values(&self, point: &str) -> Vec<Value> {
        let mut values = vec![Value::new(point, "/s", self.answers)];
        if self.offered > 0.0 {
            let lost = 100.0 * (1.0 - self.ended / self.offered).max(0.0);
            values.push(Value::new(format!("offered/{point}"), "pps", self.offered));
            values.push(Value::new(format!("lost/{point}"), "%", lost));
        }
        values
    }
}

/// Time for connections to notice the flood, before it counts.
const SETTLE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(5);
