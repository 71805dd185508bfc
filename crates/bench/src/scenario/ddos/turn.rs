//! One defense under one flood, and the results of the clients.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use lab::stage::{self, COOKIES, Clients};
use lab::{Setting, Stage};
use traffic::Rate;
use traffic::generator::{Config, Load};

use super::Scene;
use super::stack::Stack;
use crate::field::{Attack, Flood};
use crate::harness::Value;
use crate::hook::answers::Answers;
use crate::hook::{ActiveHook, Hook};

/// One turn: a defense under a flood of one rate.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    /// The lab with server, clients and attacker.
    pub siege: &'a Scene,
    /// The defense, if any.
    pub hook: Option<&'static Hook>,
    /// The kind of flood.
    pub attack: Attack,
    /// Frames per second; 0 for no flood, `None` for the highest rate.
    pub rate: Option<u64>,
}

/// Rates over one window.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Responses per second that clients received.
    pub answers: f64,
    /// Frames per second that the attacker's driver accepted.
    pub offered: f64,
    /// Frames that ended in the defense or in the stack.
    pub ended: f64,
    /// Share of its processor that the receive thread used.
    pub busy: f64,
}

/// What counts while a turn lasts. Fields are dropped in the order of their declaration: the flood
/// ends first, the defense last.
struct Counted {
    flood: Option<Flood>,
    clients: Clients,
    set: Option<Box<dyn ActiveHook>>,
    stack: Stack,
    _ground: Option<SynSettings>,
}

/// Settings of the server against a SYN flood, as an administrator would choose them.
struct SynSettings {
    _answers: Answers,
    _cookies: Setting,
}

/// Totals at one time.
struct Reading {
    at: Instant,
    answers: u64,
    offered: u64,
    ended: u64,
    receive_ns: u64,
}

impl Turn<'_> {
    /// Sets everything up, measures, and removes it again.
    pub fn take(&self, window: Duration) -> Result<Outcome> {
        let Scene { stage, field } = self.siege;
        let testbed = self.asks().then(|| self.asked()).transpose()?;
        let set = self.hook.map(|hook| (hook.set)(field)).transpose()?;
        let stack = Stack::new(&field.receiver, self.attack)?;
        let clients = if self.asks() { stage.newcomers() } else { stage.clients() }?;
        lab::until("answers to every client", PATIENCE, || {
            Ok((clients.answers() >= stage::CLIENTS as u64).then_some(()))
        })?;
        let settle = SETTLE.min(window / 2);
        let flood = (self.rate != Some(0)).then(|| self.flood(settle + window)).transpose()?;
        let counted = Counted { flood, clients, set, stack, _ground: testbed };
        sleep(settle);
        let before = counted.look(stage)?;
        sleep(window);
        Ok(Outcome::between(&before, &counted.look(stage)?))
    }

    /// Whether new connections are measured; then the clients open them.
    fn asks(&self) -> bool {
        self.attack == Attack::Syn
    }

    fn asked(&self) -> Result<SynSettings> {
        let stage = &self.siege.stage;
        let cookies = if self.hook.is_some() { COOKIES_FOR_PROXY } else { COOKIES_USUAL };
        Ok(SynSettings {
            _answers: Answers::end(stage)?,
            _cookies: stage.net.server.hold_sysctl(COOKIES, cookies)?,
        })
    }

    fn flood(&self, longest: Duration) -> Result<Flood> {
        let Scene { stage, field } = self.siege;
        let (profile, batch) = match self.rate {
            Some(pps) => (Rate::PacketsPerSecond(pps as f64), stage::batch(pps)),
            None => (Rate::Max, stage::batch(u64::MAX)),
        };
        let config = Config {
            profile: profile.into(),
            batch: Some(batch),
            cpus: vec![stage.attacker_cpu],
            ..Config::new(field.sender.device(), Load::Streams(vec![self.attack.template(stage)?]))
        };
        Flood::of(&field.sender, config, longest)
    }
}

impl Counted {
    fn look(&self, stage: &Stage) -> Result<Reading> {
        let offered = self.flood.as_ref().map_or(0, Flood::given);
        let (at, answers, receive_ns) =
            (Instant::now(), self.clients.answers(), stage.receive_ns()?);
        let in_defense = self.set.as_ref().map_or(Ok(0), |set| set.ended())?;
        let ended = in_defense + self.stack.ended()?;
        Ok(Reading { at, answers, offered, ended, receive_ns })
    }
}

impl Outcome {
    fn between(before: &Reading, after: &Reading) -> Self {
        let seconds = (after.at - before.at).as_secs_f64();
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        Self {
            answers: rate(after.answers, before.answers),
            offered: rate(after.offered, before.offered),
            ended: rate(after.ended, before.ended),
            busy: rate(after.receive_ns, before.receive_ns) / 1e9,
        }
    }

    /// Rows of a point; without a flood there is none for losses.
    pub fn values(&self, point: &str) -> Vec<Value> {
        let busy = Value::new(format!("busy/{point}"), "%", 100.0 * self.busy);
        let mut values = vec![Value::new(point, "/s", self.answers), busy];
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
/// When the listener's queue is full, and always, which is what the filter's proxy needs.
const COOKIES_USUAL: &str = "1";
const COOKIES_FOR_PROXY: &str = "2";
const PATIENCE: Duration = Duration::from_secs(5);
