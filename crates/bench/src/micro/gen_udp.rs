//! `gen-udp`: 60-byte UDP frames a second out of one processor, as they arrive at the other end of
//! a veth pair whose XDP program drops them all.
//!
//! `raw-limit` is what the kernel does with a program that only redirects: nothing can send more.
//! Ours write the headers into each frame, since veth receivers share its memory;
//! `ours-constant-as-is` does not. On veth the sender's processor does the receiver's work as
//! well. `xdp-trafficgen` (IPv6 only, 64 bytes, headers never written) takes part when it is on
//! the path, or named by `XDP_TRAFFICGEN`.

mod peer;
pub mod raw;

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kernel::{Attach, Link, Mode, Object, Replace};
use lab::{LinkOptions, TwoHosts};
use report::Bench;
use traffic::generator::{Config, Generator, Load, Rewrite};
use traffic::stream::{Quick, QuickProtocol, Stream, Value};
use traffic::{Rate, Template};

use crate::harness::{Arm, Harness};
use crate::hook::limit;
use crate::{Effort, Kind, Scenario, Testbed};
use peer::Peer;
use raw::Raw;

/// The scenario `gen-udp`.
pub const SCENARIO: Scenario = Scenario {
    name: "gen-udp",
    kind: Kind::Part,
    about: "UDP frames sent a second, by what varies in them",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let one = Field::build(1)?;
    let two = Field::build(2)?;
    let (one, two, cpus) = (&one, &two, sys::cpu::affinity()?);
    let peer = Peer::find();
    let last = *cpus.last().context("no processor may be used")?;
    let mut arms = vec![Arm::new(RAW, "pps", move |window| {
        let raw = Raw::start(&one.net.a, last)?;
        one.measure(window, || raw.is_running())
    })];
    for (name, stream, rewrite) in streams()? {
        arms.push(Arm::new(name, "pps", move |window| {
            one.generate(&stream, rewrite, &[last], window)
        }));
    }
    if let [first, second, ..] = cpus[..] {
        for (name, cpus) in [(ONE, vec![second]), (TWO, vec![first, second])] {
            let stream = udp("5000")?;
            arms.push(Arm::new(name, "pps", move |window| {
                two.generate(&stream, Rewrite::Auto, &cpus, window)
            }));
        }
    }
    match &peer {
        Some(peer) => arms.extend(peer_arms(peer, one, last)),
        None => drop(writeln!(std::io::stderr(), "{}", peer::ABSENT)),
    }
    let mut bench = Bench::new("gen-udp");
    harness.interleave(&mut bench, &mut arms)?;
    for arm in ["ours-constant", "ours-constant-as-is", PORTS, "ours-source", "ours-stamped"] {
        bench.ratio(arm, RAW);
    }
    if cpus.len() > 1 {
        bench.ratio(TWO, ONE);
    }
    if peer.is_some() {
        bench.ratio("ours-constant", PEER).ratio(PORTS, PEER_PORTS);
    }
    Ok(bench)
}

/// Every stream that one thread sends.
pub fn streams() -> Result<Vec<(&'static str, Template, Rewrite)>> {
    let constant = udp("5000")?;
    let ports = udp("5000..5999")?;
    let quick = Quick { src: Some(value("random:10.0.0.0/8")?), ..quick("5000")? };
    let source = template(quick.stream())?;
    let stamped = template(Stream { stamp: true, ..quick_stream("5000")? })?;
    Ok(vec![
        ("ours-constant", constant.clone(), Rewrite::Auto),
        ("ours-constant-as-is", constant, Rewrite::Never),
        (PORTS, ports, Rewrite::Auto),
        ("ours-source", source, Rewrite::Auto),
        ("ours-stamped", stamped, Rewrite::Auto),
    ])
}

fn peer_arms<'a>(peer: &'a Peer, field: &'a Field, cpu: usize) -> impl Iterator<Item = Arm<'a>> {
    [(PEER, None), (PEER_PORTS, Some(PORT_COUNT))].into_iter().map(move |(name, ports)| {
        Arm::new(name, "pps", move |window| {
            let mut sender = peer.start(&field.net, cpu, ports)?;
            field.measure(window, || sender.is_running())
        })
    })
}

/// Two hosts: `a` sends, `b` drops.
struct Field {
    net: TwoHosts,
    _link: Link,
    _object: Object,
}

impl Field {
    fn build(queues: u32) -> Result<Self> {
        let net = TwoHosts::build(&LinkOptions { queues, ..LinkOptions::default() })?;
        let object = limit::object()?;
        let ifindex = net.b.ifindex(LINK)?;
        let program = object.program(limit::NAME)?;
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let link = net.b.run(|| kernel::attach(&attach))??;
        Ok(Self { net, _link: link, _object: object })
    }

    /// Frames of a stream that arrive in a second.
    fn generate(
        &self,
        stream: &Template,
        rewrite: Rewrite,
        cpus: &[usize],
        window: Duration,
    ) -> Result<f64> {
        let mut config = Config::new(LINK, Load::Streams(vec![stream.clone()]));
        config.profile = Rate::Max.into();
        config.duration = Some(window + 2 * START);
        (config.rewrite, config.cpus) = (rewrite, cpus.to_vec());
        let generator = self.net.a.run(|| Generator::start(config))??;
        let all_send = || {
            let snapshot = generator.snapshot()?;
            Ok(snapshot.threads.iter().all(|thread| thread.sent > WARM_UP))
        };
        until(all_send)?;
        self.measure(window, || !generator.is_done())
    }

    /// Frames that arrive in a second, once they do, while the sender runs.
    fn measure(&self, window: Duration, mut is_running: impl FnMut() -> bool) -> Result<f64> {
        let begin = self.arrived()?;
        until(|| {
            ensure!(is_running(), "the sender ended before it began");
            Ok(self.arrived()? > begin + WARM_UP)
        })?;
        let (start, before) = (Instant::now(), self.arrived()?);
        thread::sleep(window);
        let after = self.arrived()?;
        let seconds = start.elapsed().as_secs_f64();
        ensure!(is_running(), "the sender ended early");
        Ok((after - before) as f64 / seconds)
    }

    fn arrived(&self) -> Result<u64> {
        Ok(self.net.b.netlink()?.link(LINK)?.statistics.rx_packets)
    }
}

/// Waits for what must come while senders start.
fn until(mut has_come: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + START;
    while !has_come()? {
        ensure!(Instant::now() < deadline, "nothing arrives");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn quick(dport: &str) -> Result<Quick> {
    Ok(Quick {
        src_mac: Some(value("02:78:77:00:00:01")?),
        dst_mac: Some(value("02:78:77:00:00:02")?),
        src: Some(value("10.0.0.1")?),
        dst: Some(value("10.0.0.2")?),
        sport: Some(value("4000")?),
        dport: Some(value(dport)?),
        ..Quick::new(QuickProtocol::Udp)
    })
}

fn quick_stream(dport: &str) -> Result<Stream> {
    Ok(quick(dport)?.stream())
}

fn udp(dport: &str) -> Result<Template> {
    template(quick_stream(dport)?)
}

fn template(stream: Stream) -> Result<Template> {
    Ok(stream.template(0, MTU)?)
}

fn value(text: &str) -> Result<Value> {
    text.parse().map_err(anyhow::Error::msg)
}

/// Name of the limit.
pub const RAW: &str = "raw-limit";
const PORTS: &str = "ours-ports";
const ONE: &str = "ours-one-of-two-queues";
const TWO: &str = "ours-two-threads";
const PEER: &str = "xdp-trafficgen";
const PEER_PORTS: &str = "xdp-trafficgen-ports";
const PORT_COUNT: u32 = 1000;
const LINK: &str = "eth0";
const MTU: usize = 1500;
/// Senders take a while to get going: a page pool is made and the kernel's grace period waited.
const START: Duration = Duration::from_secs(20);
const WARM_UP: u64 = 100_000;
