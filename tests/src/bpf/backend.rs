//! The backend program on the middle host of the `router` topology, for tunnels that arrive from
//! the network of host `c`: in the kernel with real sockets, and on the engine with the same in a
//! world.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use functions::backend::{self, Config, Maps, PROGRAM, PROGRAM_FRAGS};
use kernel::KernelRuntime;
use lab::{Host, LinkOptions, Router};
use spec::{Input, Spec};
use vm::world::World;
use vm::{Options, VmRuntime};

use super::balancer::{KNOWN, mac};
use super::{Arm, Judge, Judgement};

/// A service that has a listener at port 80, with one connection in each family.
pub const SERVICES: [&str; 2] = ["192.0.2.1", "2001:db8::1"];
/// Addresses of clients, host `a`.
pub const CLIENTS: [&str; 2] = ["10.0.1.2", "fd00:0:0:1::2"];

/// A place for a backend.
pub trait Ended: Arm {
    type Site: std::fmt::Debug;
    /// With the ports of the clients that have a connection, and the interface that tunnels arrive
    /// at.
    fn build(spec: &Spec, program: &'static str) -> (Self::Site, Judge<Self>, [u16; 2], u32);
    fn judge(site: &Self::Site, judge: &mut Judge<Self>, input: &Input) -> Judgement;
}

#[derive(Debug)]
pub struct Backend<R: Ended = KernelRuntime> {
    site: R::Site,
    judge: Judge<R>,
    /// Ports of the clients that have a connection.
    pub connected: [u16; 2],
    ingress: u32,
}

impl<R: Ended> Backend<R> {
    /// Opens tunnels from the balancer's addresses to backend 10 and for the services.
    pub fn new() -> Self {
        Self::of(PROGRAM)
    }

    /// The program for frames of several buffers.
    pub fn of_frags() -> Self {
        Self::of(PROGRAM_FRAGS)
    }

    fn of(program: &'static str) -> Self {
        let mut spec = Spec::parse("backend", backend::OBJECT).unwrap();
        let config = config();
        config.apply(&mut spec);
        let (site, judge, connected, ingress) = R::build(&spec, program);
        let this = Self { site, judge, connected, ingress };
        this.update(&config);
        this
    }

    pub fn update(&self, config: &Config) {
        let maps = Maps::find(|name| Ok::<_, Infallible>(self.judge.map(name))).unwrap();
        backend::update(config, &maps).unwrap();
    }

    pub fn judge(&mut self, packet: &[u8]) -> Judgement {
        let input =
            Input { packet: packet.to_vec(), ingress_ifindex: self.ingress, ..Input::default() };
        R::judge(&self.site, &mut self.judge, &input)
    }
}

impl<R: Ended> Default for Backend<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend {
    /// The host that it runs on, and that of the clients.
    pub fn hosts(&self) -> (&Host, &Host) {
        (&self.site.net.b, &self.site.net.a)
    }
}

/// The tunnels of `tests/balance/delivery.rs`.
pub fn config() -> Config {
    let all = |texts: [&str; 2]| texts.map(|text| text.to_owned().try_into().unwrap()).to_vec();
    Config {
        from: all(["10.0.2.1", "fd00:0:0:2::1"]),
        address: all(["10.0.2.10", "fd00:0:0:2::10"]),
        service: all(SERVICES),
        ..Config::default()
    }
}

/// Hosts with a listener, and connections to it.
#[derive(Debug)]
pub struct RealSite {
    net: Router,
    _sockets: Vec<(TcpListener, TcpStream)>,
}

impl Ended for KernelRuntime {
    type Site = RealSite;

    fn build(spec: &Spec, program: &'static str) -> (RealSite, Judge, [u16; 2], u32) {
        let net = Router::build(&LinkOptions::default()).unwrap();
        let judge = Judge::load_only(spec, program);
        for number in KNOWN {
            for address in [format!("10.0.2.{number}"), format!("fd00:0:0:2::{number}")] {
                ip(&net.b, &format!("neigh replace {address} lladdr {} dev eth1", mac(number)));
            }
        }
        let mut sockets = Vec::new();
        let mut ports = Vec::new();
        for (service, via) in SERVICES.into_iter().zip(["10.0.1.1", "fd00:0:0:1::1"]) {
            let nodad = if service.contains(':') { " nodad" } else { "" };
            ip(&net.b, &format!("addr add {service} dev lo{nodad}"));
            ip(&net.a, &format!("route add {service} via {via}"));
            let to = SocketAddr::new(service.parse().unwrap(), 80);
            let listener = net.b.run(|| TcpListener::bind(to)).unwrap().unwrap();
            let stream = net.a.run(|| TcpStream::connect(to)).unwrap().unwrap();
            ports.push(stream.local_addr().unwrap().port());
            sockets.push((listener, stream));
        }
        let ingress = net.b.ifindex("eth1").unwrap().0;
        (RealSite { net, _sockets: sockets }, judge, [ports[0], ports[1]], ingress)
    }

    fn judge(site: &RealSite, judge: &mut Judge, input: &Input) -> Judgement {
        site.net.b.run(|| judge.judge_input(input)).unwrap()
    }
}

fn ip(host: &Host, words: &str) {
    let output = host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {output:?}");
}

impl Ended for VmRuntime {
    type Site = ();

    fn build(spec: &Spec, program: &'static str) -> ((), Judge<Self>, [u16; 2], u32) {
        let mut text = super::router::WORLD.to_owned();
        for number in KNOWN {
            for address in [format!("10.0.2.{number}"), format!("fd00:0:0:2::{number}")] {
                let mac = mac(number);
                text += &format!("[[neighbours]]\nip = '{address}'\ndev = 'eth1'\nmac = '{mac}'\n");
            }
        }
        for (service, client) in SERVICES.into_iter().zip(CLIENTS) {
            let [service, client]: [IpAddr; 2] = [service, client].map(|one| one.parse().unwrap());
            let to = SocketAddr::new(service, 80);
            let from = SocketAddr::new(client, CONNECTED);
            text += &format!("[[sockets]]\nprotocol = 'tcp'\nlocal = '{to}'\n");
            text += &format!("[[sockets]]\nprotocol = 'tcp'\nlocal = '{to}'\nremote = '{from}'\n");
        }
        let world = World::from_toml(&text).unwrap();
        let programs = Some(vec![program.to_owned()]);
        let runtime = Self::new(Options { world, programs, ..Options::default() });
        ((), Judge::on(runtime, spec, program), [CONNECTED; 2], 3)
    }

    fn judge((): &(), judge: &mut Judge<Self>, input: &Input) -> Judgement {
        judge.judge_input(input)
    }
}

const CONNECTED: u16 = 5000;
