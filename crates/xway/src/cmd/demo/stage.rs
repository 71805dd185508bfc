//! The stage: a service lab, who runs on which processor, and the guards of one phase.
//!
//! On veth the sender's processor does the receiver's work, so a flood would slow only itself.
//! Therefore the server's receive side polls in a kernel thread of its own, which shares one
//! processor with the service and its client; the attacker has another one to itself.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result};
use functions::drop::{self, Config, Maps};
use kernel::{Attach, LoadOptions, Mode, Object, Replace};
use lab::LinkOptions;
use lab::frame::{Flow, Side};
use lab::transactions::{Client, Service};
use spec::{Spec, Verdict};
use sys::net::Mac;
use traffic::generator::{self, Generator, Load};
use traffic::{Rate, Template};

use super::phase::Phase;
use crate::counters::Counters;

/// Field order is drop order: the service ends before its namespace goes.
#[derive(Debug)]
pub struct Stage {
    _service: Service,
    net: lab::Service,
    rate_pps: u64,
    service_cpu: usize,
    attacker_cpu: usize,
}

/// What runs during one phase; dropped, the interface is as it was and nobody sends.
#[derive(Debug)]
pub struct Scene {
    flood: Option<Generator>,
    clients: Vec<Client>,
    shield: Option<Shield>,
    receivers: Vec<u32>,
}

/// The drop program on the server's interface.
#[derive(Debug)]
struct Shield {
    _link: kernel::Link,
    counters: Counters,
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
        let cpus = sys::cpu::affinity()?;
        let service_cpu = *cpus.first().context("no processor may be used")?;
        let attacker_cpu = *cpus.last().context("no processor may be used")?;
        let net = lab::Service::build(&LinkOptions::default())?;
        net.server.pin_napi(SERVER_LINK, service_cpu)?;
        net.server.raise_napi(SERVER_LINK)?;
        let listener = net.server.run(|| TcpListener::bind(SERVICE))??;
        let _service = Service::start(listener, service_cpu)?;
        // This thread only looks on, ten times a second: the attacker's side can spare that.
        sys::cpu::set_affinity(&[attacker_cpu])?;
        Ok(Self { _service, net, rate_pps, service_cpu, attacker_cpu })
    }

    /// How it was done, for the reader to judge.
    pub fn placement(&self) -> String {
        let Self { service_cpu, attacker_cpu, rate_pps, .. } = self;
        let caveat = if service_cpu == attacker_cpu {
            " This machine lends only one processor, so the attacker also takes the service's time."
        } else {
            ""
        };
        format!(
            "{CLIENTS} clients, the service and the server's receive thread (threaded NAPI, at \
             real-time priority as a soft interrupt would be) share CPU {service_cpu}; the \
             attacker alone has CPU {attacker_cpu} and sends {rate_pps} frames a second of 60 \
             bytes, in batches of {BATCH}, to UDP port {FLOOD_PORT}. Both reach the server through \
             its one veth link and one receive queue. Each client has one TCP connection and asks \
             {} ms after each answer, so that the service has a load and not all of the processor. \
             The same in all phases.{caveat}",
            THINK.as_millis(),
        )
    }

    /// Starts a phase: the shield first, then fresh connections, then the flood.
    pub fn play(&self, phase: Phase, time: Duration) -> Result<Scene> {
        let shield = phase.mode().map(|mode| self.shield(mode)).transpose()?;
        let netns = self.net.client.clone();
        let connect = move || {
            let connection = netns.run(|| TcpStream::connect_timeout(&SERVICE, CONNECT));
            connection.map_err(std::io::Error::other)?
        };
        let clients = (0..CLIENTS)
            .map(|_| Client::start(connect.clone(), self.service_cpu, THINK))
            .collect::<Result<_, _>>()?;
        let flood = phase.flooded().then(|| self.flood(time)).transpose()?;
        let receivers = self.net.server.threaded_napi(SERVER_LINK)?;
        Ok(Scene { flood, clients, shield, receivers })
    }

    fn shield(&self, mode: Mode) -> Result<Shield> {
        let rule = format!("{} udp {FLOOD_PORT}", SERVICE.ip()).parse()?;
        let config = Config { rules: vec![rule], ..Config::default() };
        let mut spec = Spec::parse("drop", drop::OBJECT)?;
        config.apply(&mut spec)?;
        let object = Object::load(&spec, &LoadOptions::default())?;
        drop::update(&config, &Maps::find(|name| object.map(name))?)?;
        let program = object.program(drop::PROGRAM)?;
        let counters = Counters::of(program)?.context("the drop program does not count")?;
        let ifindex = self.net.server.ifindex(SERVER_LINK)?;
        let attach = Attach { ifindex, program, mode, replace: Replace::No };
        let link = self.net.server.run(|| kernel::attach(&attach))??;
        Ok(Shield { _link: link, counters })
    }

    fn flood(&self, time: Duration) -> Result<Generator> {
        let attacker = Side { mac: ATTACKER_MAC, ip: ATTACKER.into(), port: FLOOD_PORT };
        let mac = self.net.server.mac(SERVER_LINK)?;
        let victim = Side { mac, ip: SERVICE.ip(), port: FLOOD_PORT };
        let frame = Flow::new(attacker, victim).udp_of_length(FRAME_LEN)?;
        let load = Load::Streams(vec![Template::constant("flood", frame)]);
        let config = generator::Config {
            profile: Rate::PacketsPerSecond(self.rate_pps as f64).into(),
            batch: Some((self.rate_pps / BATCHES).clamp(1, BATCH) as u32),
            duration: Some(time + FLOOD_SPARE),
            cpus: vec![self.attacker_cpu],
            ..generator::Config::new(ATTACKER_LINK, load)
        };
        let flood = self.net.attacker.run(|| Generator::start(config))??;
        lab::until("the flood", FLOOD_START, || Ok((flood.given() > 0).then_some(())))?;
        Ok(flood)
    }
}

impl Scene {
    pub fn totals(&self) -> Result<Totals> {
        let dropped = match &self.shield {
            Some(shield) => shield.counters.read()?.verdict(Verdict::Drop).packets,
            None => 0,
        };
        Ok(Totals {
            answers: self.clients.iter().map(Client::answers).sum(),
            offered: self.flood.as_ref().map_or(0, Generator::given),
            dropped,
            receive_ns: self.receive_ns()?,
        })
    }

    fn receive_ns(&self) -> Result<u64> {
        self.receivers.iter().map(|pid| Ok(sys::proc::run_ns(*pid)?)).sum()
    }

    /// Connections that the client had to make anew.
    pub fn reconnects(&self) -> u64 {
        self.clients.iter().map(Client::reconnects).sum()
    }
}

const SERVER_LINK: &str = "eth0";
const ATTACKER_LINK: &str = "up0";
const SERVICE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 7);
/// An address that nobody has: the flood is spoofed.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 66);
const ATTACKER_MAC: Mac = Mac([0x02, 0, 0, 0, 0, 0x66]);
const FRAME_LEN: usize = 60;
/// As a network card that moderates its interrupts would deliver them.
const BATCH: u64 = 128;
/// Batches a second at least, so that no frame waits long for the rest of its batch.
const BATCHES: u64 = 4_000;
const FLOOD_PORT: u16 = 1234;
const CLIENTS: usize = 16;
const THINK: Duration = Duration::from_millis(2);
const CONNECT: Duration = Duration::from_millis(250);
/// The flood ends by its guard; this is its own bound.
const FLOOD_SPARE: Duration = Duration::from_secs(10);
/// The kernel makes a page pool and waits for a grace period before the first frame.
const FLOOD_START: Duration = Duration::from_secs(5);
