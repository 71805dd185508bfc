//! `Field`: the lab in which roles run.
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
use lab::{Host, LinkOptions, Router};
use sys::net::Statistics;
use traffic::generator::{Config, Generator, Load};
use traffic::stream::{Layer, Raw, RawField, RawKind, Stream};
use traffic::{Rate, Template};

use super::counter::Counter;
use super::outcome::Outcome;
use super::peer::{Answer, Peer, Running, Steer};
use super::role::{Numbers, Role};
use super::steering::Steering;

/// The hosts, links and processors that all peers are measured on.
pub struct Field {
    net: Router,
    /// Destination of `tx` and `echo`.
    near: Counter,
    /// Destination of `forward`.
    far: Counter,
    feeder: usize,
    peer: usize,
}

impl Field {
    /// Builds the lab.
    pub fn build() -> Result<Self> {
        let net = Router::build(&LinkOptions::default())?;
        let cpus = sys::cpu::affinity()?;
        let feeder = *cpus.first().context("no processor may be used")?;
        let peer = *cpus.last().context("no processor may be used")?;
        let (near, far) = (Counter::attach(&net.a, LINK)?, Counter::attach(&net.c, LINK)?);
        Ok(Self { net, near, far, feeder, peer })
    }

    /// Which processes share a processor, for the report.
    pub fn places(&self) -> String {
        let (feeder, peer) = (self.feeder, self.peer);
        let shared = if feeder == peer { ": they share it, so the values mean little" } else { "" };
        format!("generator and client on processor {feeder}, peers on {peer}{shared}")
    }

    /// Runs one peer in one role for the window.
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
            role if role.is_counted_out() => return self.count_out(peer, role, window, running),
            _ => self.feed(peer, window, || running.finish())?,
        };
        self.judge(role, &answer).with_context(|| format!("{answer:?}"))
    }

    fn steer(&self, peer: &Peer, role: Role) -> Result<Vec<Steering>> {
        let links: &[&str] = match role.peers_part() {
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
        let part = role.peers_part();
        // The echo of round trips runs until its client has ended, and a peer that must account for
        // every frame until the last one has arrived.
        let stays = role == Role::Rtt || role.is_counted_out();
        let mut words = words_of(part, window + if stays { GRACE } else { Duration::ZERO });
        if part == Role::Forward {
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
        let generator = self.generate(peer, Rate::Max, window + START)?;
        let answer = work();
        generator.stop()?;
        answer
    }

    /// Sends numbered frames during the window, and counts their outcomes when the peer has had
    /// time for the last ones.
    fn count_out(
        &self,
        peer: &Peer,
        role: Role,
        window: Duration,
        running: Running,
    ) -> Result<Numbers> {
        let before = self.lost_behind(role)?;
        let rate = if role == Role::RxPaced { PACE } else { Rate::Max };
        let fed = self.generate(peer, rate, window)?.wait()?;
        let answer = running.finish()?;
        let told = || format!("{answer:?} of {:?}", fed.totals);
        ensure!(fed.totals.blind.is_none(), "{:?}", fed.totals.blind);
        let late = fed.seconds - window.as_secs_f64();
        ensure!(late < GRACE.as_secs_f64() / 2.0, "the generator ran {late} s too long");
        let arrived = self.arrived(role, &answer).with_context(told)?;
        let is_receiver = role.peers_part() == Role::Rx;
        let outcome = Outcome {
            offered: fed.totals.sent + fed.totals.not_sent,
            arrived: if is_receiver { answer.received } else { arrived },
            link: fed.totals.not_sent,
            ring_full: answer.ring_full,
            dropped: answer.dropped.saturating_sub(answer.ring_full),
            refused: if is_receiver { 0 } else { answer.received.saturating_sub(answer.sent) },
            out: self.lost_behind(role)? - before,
        };
        ensure!(outcome.arrived <= outcome.offered, "more arrived than was offered: {}", told());
        Ok(outcome.numbers(role))
    }

    fn generate(&self, peer: &Peer, rate: Rate, duration: Duration) -> Result<Generator> {
        let mut config = Config::new(LINK, Load::Streams(vec![stream(peer)?]));
        config.profile = rate.into();
        config.duration = Some(duration);
        config.cpus = vec![self.feeder];
        Ok(self.net.a.run(|| Generator::start(config))??)
    }

    /// Frames that the link after a peer has lost since it was created, as its two ends count.
    fn lost_behind(&self, role: Role) -> Result<u64> {
        let (from, to) = match role.peers_part() {
            Role::Echo => ((&self.net.b, LINK), (&self.net.a, LINK)),
            Role::Forward => ((&self.net.b, OUT), (&self.net.c, LINK)),
            _ => return Ok(0),
        };
        let count = |(host, link): (&Host, &str)| -> Result<Statistics> {
            Ok(host.netlink()?.link(link)?.statistics)
        };
        let (from, to) = (count(from)?, count(to)?);
        Ok(from.tx_dropped + to.rx_dropped)
    }

    fn judge(&self, role: Role, answer: &Answer) -> Result<Numbers> {
        Numbers::of(role, answer, self.arrived(role, answer)?)
    }

    /// Frames that a peer has sent and that have come, once each.
    fn arrived(&self, role: Role, answer: &Answer) -> Result<u64> {
        let arrived = match role.peers_part() {
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
        Ok(arrived.frames)
    }
}

fn words_of(role: Role, window: Duration) -> Vec<String> {
    let seconds = window.as_secs_f64().to_string();
    [role.word(), "--dev", LINK, "--seconds", &seconds].map(String::from).to_vec()
}

/// Numbered UDP from `a` to `b`. Frames that the stack receives are for another host where the peer
/// permits it, so that the stack drops them early.
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
/// Far below what any of the peers takes.
const PACE: Rate = Rate::PacketsPerSecond(200_000.0);
