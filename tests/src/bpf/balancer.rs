//! The balancer program on the middle host of the `router` topology: in the kernel with real routes
//! and neighbours, and on the engine with the same in a world. Its backends are in the network of
//! host `c`.

use std::convert::Infallible;
use std::net::IpAddr;

use functions::balancer::{self, Change, Config, Error, Maps, PROGRAM, TX};
use kernel::KernelRuntime;
use lab::{LinkOptions, Router};
use spec::{Expect, Input, Map as _, Spec};
use sys::thread::monotonic_ns;
use vm::world::World;
use vm::{Options, VmRuntime};

use super::{Arm, Judge, Judgement};

/// Where packets come in: towards the clients, host `a`.
pub const CLIENTS: usize = 0;
/// Numbers of the backends whose neighbours are known: 10.0.2.NUMBER and fd00:0:0:2::NUMBER.
pub const KNOWN: std::ops::Range<u8> = 10..26;

/// MAC address of a backend.
pub fn mac(number: u8) -> String {
    format!("02:78:77:00:0b:{number:02x}")
}

/// A place for a balancer.
pub trait Balanced: Arm {
    type Site: std::fmt::Debug;
    fn build(spec: &Spec, config: &Config) -> (Self::Site, Judge<Self>, [u32; 2]);
    fn judge(site: &Self::Site, judge: &mut Judge<Self>, input: &Input) -> Judgement;
    /// The monotonic clock that programs read, in nanoseconds.
    fn now() -> u64;
}

#[derive(Debug)]
pub struct Balancer<R: Balanced = KernelRuntime> {
    site: R::Site,
    judge: Judge<R>,
    pub ports: [u32; 2],
}

impl<R: Balanced> Balancer<R> {
    pub fn new(config: &Config) -> Self {
        let mut spec = Spec::parse("balancer", config.object()).unwrap();
        config.apply(&mut spec).unwrap();
        let (site, judge, ports) = R::build(&spec, config);
        let this = Self { site, judge, ports };
        this.update(config).unwrap();
        this
    }

    /// In place of another one, of which it takes over what it knows.
    pub fn replacing(old: &Self, config: &Config) -> Self {
        let mut spec = Spec::parse("balancer", config.object()).unwrap();
        config.apply(&mut spec).unwrap();
        balancer::sync::needs(&mut spec, &old.maps(), config).unwrap();
        let (site, judge, ports) = R::build(&spec, config);
        let this = Self { site, judge, ports };
        balancer::sync::inherit(&old.maps(), &this.maps()).unwrap();
        this.update(config).unwrap();
        this
    }

    /// From TOML.
    pub fn of(text: &str) -> Self {
        Self::new(&toml::from_str(text).unwrap())
    }

    pub fn maps(&self) -> Maps<'_, R::Map> {
        Maps::find(|name| Ok::<_, Infallible>(self.judge.map(name))).unwrap()
    }

    pub fn update(&self, config: &Config) -> Result<Change, Error<<R::Map as spec::Map>::Error>> {
        balancer::update(config, &self.maps())
    }

    /// A map of the program.
    pub fn map(&self, name: &str) -> &R::Map {
        self.judge.map(name)
    }

    /// Runs a packet that comes from the backends.
    pub fn judge_reply(&mut self, packet: &[u8]) -> Judgement {
        let input = Input {
            packet: packet.to_vec(),
            ingress_ifindex: self.ports[1 - CLIENTS],
            ..Input::default()
        };
        R::judge(&self.site, &mut self.judge, &input)
    }

    pub fn judge(&mut self, packet: &[u8]) -> Judgement {
        let input = Input {
            packet: packet.to_vec(),
            ingress_ifindex: self.ports[CLIENTS],
            ..Input::default()
        };
        R::judge(&self.site, &mut self.judge, &input)
    }

    /// The address that the packet is sent to, which must be a backend's.
    pub fn backend(&mut self, packet: &[u8]) -> IpAddr {
        let judgement = self.judge(packet);
        assert_eq!(judgement.reason, "balanced");
        let bytes = &judgement.packet;
        match bytes[14] >> 4 {
            4 => IpAddr::from(*bytes[30..].first_chunk::<4>().unwrap()),
            _ => IpAddr::from(*bytes[38..].first_chunk::<16>().unwrap()),
        }
    }
}

impl Balancer {
    /// The program itself, to be run by several threads.
    pub fn program(&self) -> &kernel::Program {
        self.judge.program()
    }

    pub fn site(&self) -> &Router {
        &self.site
    }
}

impl Balanced for KernelRuntime {
    type Site = Router;

    fn build(spec: &Spec, _config: &Config) -> (Router, Judge, [u32; 2]) {
        let net = Router::build(&LinkOptions::default()).unwrap();
        let judge = Judge::load(spec, PROGRAM);
        let ports = ["eth0", "eth1"].map(|name| net.b.ifindex(name).unwrap().0);
        for number in KNOWN {
            for address in [format!("10.0.2.{number}"), format!("fd00:0:0:2::{number}")] {
                let mac = mac(number);
                let words = ["neigh", "replace", &address, "lladdr", &mac, "dev", "eth1"];
                let status = net.b.command("ip").unwrap().args(words).status().unwrap();
                assert!(status.success(), "{address}");
            }
        }
        net.b.run(|| egress(&judge, &ports)).unwrap();
        (net, judge, ports)
    }

    fn judge(site: &Router, judge: &mut Judge, input: &Input) -> Judgement {
        site.b.run(|| judge.judge_input(input)).unwrap()
    }

    fn now() -> u64 {
        monotonic_ns()
    }
}

impl Balanced for VmRuntime {
    type Site = ();

    fn build(spec: &Spec, _config: &Config) -> ((), Judge<Self>, [u32; 2]) {
        let world = World::from_toml(&world()).unwrap();
        let judge = Judge::on(Self::new(Options { world, ..Options::default() }), spec, PROGRAM);
        egress(&judge, &[2, 3]);
        ((), judge, [2, 3])
    }

    fn judge((): &(), judge: &mut Judge<Self>, input: &Input) -> Judgement {
        judge.judge_input(input)
    }

    /// The clock of the engine begins with it.
    fn now() -> u64 {
        0
    }
}

/// The world of the engine: that of a router, with backends.
fn world() -> String {
    let mut text = super::router::WORLD.to_owned();
    for number in KNOWN {
        for address in [format!("10.0.2.{number}"), format!("fd00:0:0:2::{number}")] {
            let mac = mac(number);
            text += &format!("[[neighbours]]\nip = '{address}'\ndev = 'eth1'\nmac = '{mac}'\n");
        }
    }
    text
}

/// A program on the engine, whose links have this MTU.
pub fn with_mtu(spec: &Spec, program: &'static str, mtu: u32) -> Judge<VmRuntime> {
    let text = world().replace("forward_ipv4", &format!("mtu = {mtu}\nforward_ipv4"));
    let world = World::from_toml(&text).unwrap();
    let options = Options { world, programs: Some(vec![program.to_owned()]), ..Options::default() };
    Judge::on(VmRuntime::new(options), spec, program)
}

/// Packets may leave by these interfaces.
fn egress<R: Arm>(judge: &Judge<R>, ports: &[u32]) {
    for port in ports {
        let key = port.to_le_bytes();
        judge.map(TX).update(&key, &key, Expect::Any).unwrap();
    }
}
