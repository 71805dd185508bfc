//! `Field`: the lab that roles are played in.
//!
//! ```text
//!   a                        b                        c
//!   eth0 ─────────────── eth0 eth1 ─────────────── eth0
//!   generator, client,    the peer                  counter
//!   counter
//! ```
//! Rule: the generator and the client run on the first processor, the peer on the last. On veth the
//! sender's processor does the receiver's work up to its socket.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::{LinkOptions, Router};
use traffic::Template;
use traffic::generator::{Config, Generator, Load};
use traffic::stream::{Layer, Raw, RawField, RawKind, Stream};

use super::counter::Counter;
use super::peer::{Answer, Peer, Steer};
use super::role::{Numbers, Role};
use super::steering::Steering;

pub struct Field {
    net: Router,
    /// Where `tx` and `echo` send to.
    near: Counter,
    /// Where `forward` sends to.
    far: Counter,
    feeder: usize,
    peer: usize,
}

impl Field {
    pub fn build() -> Result<Self> {
        let net = Router::build(&LinkOptions::default())?;
        let cpus = sys::cpu::affinity()?;
        let feeder = *cpus.first().context("no processor may be used")?;
        let peer = *cpus.last().context("no processor may be used")?;
        let (near, far) = (Counter::attach(&net.a, LINK)?, Counter::attach(&net.c, LINK)?);
        Ok(Self { net, near, far, feeder, peer })
    }

    /// Who shares a processor with whom, for people.
    pub fn places(&self) -> String {
        let (feeder, peer) = (self.feeder, self.peer);
        let shared = if feeder == peer { ": they share it, so numbers say little" } else { "" };
        format!("generator and client on processor {feeder}, peers on {peer}{shared}")
    }

    /// One peer in one role for so long.
    pub fn play(
        &self,
        peer: &Peer,
        role: Role,
        client: Option<&Peer>,
        window: Duration,
    ) -> Result<Numbers> {
        let steering = self.steer(peer, role)?;
        self.near.reset()?;
        self.far.reset()?;
        let words = self.words(peer, role, &steering, window)?;
        let running = peer.start(&self.net.b, self.peer, &words)?;
        let answer = match role {
            Role::Tx => running.finish()?,
            Role::Rtt => {
                let client = client.context("no client for round trips")?;
                let words = words_of(Role::Rtt, window);
                let asking = client.start(&self.net.a, self.feeder, &words)?;
                let answer = asking.finish()?;
                running.finish()?;
                return Numbers::of_round_trips(&answer);
            }
            _ => self.feed(peer, window, || running.finish())?,
        };
        self.judge(role, &answer).with_context(|| format!("{answer:?}"))
    }

    fn steer(&self, peer: &Peer, role: Role) -> Result<Vec<Steering>> {
        let links: &[&str] = match role {
            Role::Forward => &[LINK, OUT],
            _ => &[LINK],
        };
        match peer.steering {
            Steer::Map => links.iter().map(|link| Steering::attach(&self.net.b, link)).collect(),
            Steer::Own | Steer::Stack => Ok(Vec::new()),
        }
    }

    fn words(
        &self,
        peer: &Peer,
        role: Role,
        steering: &[Steering],
        window: Duration,
    ) -> Result<Vec<String>> {
        let word = match role {
            Role::Rtt => Role::Echo,
            role => role,
        };
        // The echo of round trips stays until its client has gone.
        let grace = if role == Role::Rtt { GRACE } else { Duration::ZERO };
        let mut words = words_of(word, window + grace);
        if role == Role::Forward {
            words.extend(["--out-dev", OUT].map(String::from));
        }
        if role == Role::Rtt {
            words.extend(["--wait", "spin"].map(String::from));
        }
        ensure!(peer.steering != Steer::Map || !steering.is_empty(), "nothing steers");
        for (name, steering) in ["--map-id", "--out-map-id"].iter().zip(steering) {
            words.extend([(*name).to_owned(), steering.map_id()?.to_string()]);
        }
        Ok(words)
    }

    /// Sends numbered frames as fast as it can while `work` lasts.
    fn feed<T>(
        &self,
        peer: &Peer,
        window: Duration,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let mut config = Config::new(LINK, Load::Streams(vec![stream(peer)?]));
        config.profile = traffic::Rate::Max.into();
        config.duration = Some(window + START);
        config.cpus = vec![self.feeder];
        let generator = self.net.a.run(|| Generator::start(config))??;
        let answer = work();
        generator.stop()?;
        answer
    }

    fn judge(&self, role: Role, answer: &Answer) -> Result<Numbers> {
        let arrived = match role {
            Role::Forward => self.far.arrived()?,
            _ => self.near.arrived()?,
        };
        ensure!(answer.duplicated == 0, "{} frames came twice or late", answer.duplicated);
        ensure!(arrived.behind == 0, "{} frames arrived twice or late", arrived.behind);
        ensure!(
            arrived.frames <= answer.sent,
            "{} frames were sent and {} arrived",
            answer.sent,
            arrived.frames
        );
        Numbers::of(role, answer, arrived.frames)
    }
}

fn words_of(role: Role, window: Duration) -> Vec<String> {
    let seconds = window.as_secs_f64().to_string();
    [role.word(), "--dev", LINK, "--seconds", &seconds].map(String::from).to_vec()
}

/// Numbered UDP from `a` to `b`. What the stack hands over is for somebody else where the peer is
/// content with that, so that the stack is soon done with it.
fn stream(peer: &Peer) -> Result<Template> {
    let target = if peer.name == super::MMSG { "027877000101" } else { "0278770001ff" };
    let (source, ip) = ("027877000102", "4500002e00000000401164bd0a0001020a000101");
    let (udp, payload) = ("13881388001a0000", "00".repeat(18));
    let hex = format!("{target}{source}0800{ip}{udp}{payload}");
    let value = "0..18446744073709551615".parse().map_err(anyhow::Error::msg)?;
    let number = RawField { at: 42, bit: 0, bits: Some(64), kind: RawKind::Number, value };
    let raw = Raw { hex: Some(hex), text: None, fields: vec![number] };
    let stream = Stream { layers: vec![Layer::Raw(raw)], ..Stream::default() };
    Ok(stream.template(0, MTU)?)
}

const LINK: &str = "eth0";
const OUT: &str = "eth1";
const MTU: usize = 1500;
/// The generator starts: a page pool is made and the kernel's grace period waited.
const START: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_millis(200);
