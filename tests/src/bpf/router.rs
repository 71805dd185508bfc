//! The forward program on the middle host of the `router` topology: on real links, or in a world
//! that is given.
//!
//! In the kernel it is loaded twice: one is attached to both ports and meets what hosts send on
//! their own; the other only judges what a test shows it, so that its counters are the test's.

use std::convert::Infallible;

use functions::route::{self, Config, Maps, PROGRAM, PortMaps};
use functions::tags;
use kernel::{Attach, KernelRuntime, Link, Mode, Replace};
use lab::frame::{Flow, Side};
use lab::{LinkOptions, Router};
use packet::Mac;
use spec::{Input, Spec};
use vm::world::{ReceivedVlan, Route, RouteKind, World};
use vm::{Options, VmRuntime};

use super::{Arm, Judge, Judgement};

/// Which port of the router a packet comes in at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Towards `a`, 10.0.1.0/24.
    Eth0,
    /// Towards `c`, 10.0.2.0/24.
    Eth1,
}

/// How the router differs from the topology.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// A route to an address that goes nowhere, and how.
    Closed(RouteKind, &'static str),
    /// The MTU towards `c`.
    Mtu(u32),
    /// What comes from `a` is not forwarded.
    NotForwarding,
    /// A further interface `vNUMBER`, whose index is NUMBER, that owns 10.0.NUMBER.1 and
    /// fd00:0:0:NUMBER::1; host 2 of these networks is known. Both have the MAC addresses of
    /// [`vlan_mac`].
    Owner(u8),
    /// The interface towards `a` takes a tag out of each frame, of which the program asks it:
    /// protocol, and priority and ID. Only in the engine.
    Stripped(u16, u16),
    /// Connections that the engine tracks, as an environment in TOML; the kernel has real ones.
    Connections(&'static str),
}

/// MAC address of a host in the network of [`Change::Owner`]: 1 for the router.
pub fn vlan_mac(number: u8, host: u8) -> String {
    format!("02:78:77:00:{number:02}:{host:02}")
}

/// A router that a program can be attached to.
pub trait Routed: Arm {
    type Site: std::fmt::Debug;
    fn build(spec: &Spec, changes: &[Change]) -> (Self::Site, Judge<Self>, [u32; 2]);
    fn judge(site: &Self::Site, judge: &mut Judge<Self>, packet: &[u8], at: u32) -> Judgement;
    fn update(site: &Self::Site, judge: &Judge<Self>, config: &Config, egress: &[u32]);
    fn set_ports(site: &Self::Site, judge: &Judge<Self>, ports: &[route::Port]);
    fn judge_input(site: &Self::Site, judge: &mut Judge<Self>, input: &Input) -> Judgement;
}

#[derive(Debug)]
pub struct Forward<R: Routed = KernelRuntime> {
    pub site: R::Site,
    judge: Judge<R>,
    pub ports: [u32; 2],
}

impl<R: Routed> Forward<R> {
    pub fn new(translations: &[&str]) -> Self {
        Self::changed(translations, &[])
    }

    pub fn changed(translations: &[&str], changes: &[Change]) -> Self {
        let translations = translations.iter().map(|text| text.parse().unwrap()).collect();
        Self::configured(&Config { translations, ..Config::default() }, changes)
    }

    pub fn with(config: &Config) -> Self {
        Self::configured(config, &[])
    }

    pub fn configured(config: &Config, changes: &[Change]) -> Self {
        let mut spec = Spec::parse("forward", config.object()).unwrap();
        config.apply(&mut spec).unwrap();
        config.size_memory(&mut spec, sys::cpu::possible().unwrap()).unwrap();
        let devices = [0, 1].map(|ifindex| route::Port::untagged(ifindex, None));
        route::size_vlans(&mut spec, &devices);
        if changes.iter().any(|change| matches!(change, Change::Stripped(..))) {
            tags::ask_device(&mut spec, &[PROGRAM]).unwrap();
        }
        let (site, judge, ports) = R::build(&spec, changes);
        let this = Self { site, judge, ports };
        this.update(config, &this.ports);
        this
    }

    pub fn update(&self, config: &Config, egress: &[u32]) {
        R::update(&self.site, &self.judge, config, egress);
    }

    /// Gives the program that judges these ports, and no others.
    pub fn set_ports(&self, ports: &[route::Port]) {
        R::set_ports(&self.site, &self.judge, ports);
    }

    /// Judges a packet that comes in by an interface, with metadata before it.
    pub fn judge_at(&mut self, ifindex: u32, packet: &[u8], metadata: usize) -> Judgement {
        let (packet, metadata) = (packet.to_vec(), vec![0; metadata]);
        let input = Input { packet, metadata, ingress_ifindex: ifindex, rx_queue: 0 };
        R::judge_input(&self.site, &mut self.judge, &input)
    }

    /// A map of the program that judges.
    pub fn map(&self, name: &str) -> &R::Map {
        self.judge.map(name)
    }

    pub fn judge(&mut self, port: Port, packet: &[u8]) -> Judgement {
        R::judge(&self.site, &mut self.judge, packet, self.ports[port as usize])
    }
}

fn fill<R: Arm>(judge: &Judge<R>, config: &Config, egress: &[u32]) {
    let port = |(ifindex, mac): (&u32, &str)| {
        let mac: Mac = mac.parse().unwrap();
        route::Port::untagged(*ifindex, Some(mac.0))
    };
    let ports: Vec<_> = egress.iter().zip([B0, B1]).map(port).collect();
    let maps = Maps::find(|name| Ok::<_, Infallible>(judge.map(name))).unwrap();
    route::update(config, &ports, &maps).unwrap();
}

fn fill_ports<R: Arm>(judge: &Judge<R>, ports: &[route::Port]) {
    let maps = PortMaps::find(|name| Ok::<_, Infallible>(judge.map(name))).unwrap();
    route::update_ports(ports, &maps).unwrap();
}

// ---- the kernel -----------------------------------------------------------------------------

#[derive(Debug)]
pub struct Real {
    pub net: Router,
    attached: Judge,
    _links: [Link; 2],
}

impl Routed for KernelRuntime {
    type Site = Real;

    fn build(spec: &Spec, changes: &[Change]) -> (Real, Judge, [u32; 2]) {
        let net = Router::build(&LinkOptions::default()).unwrap();
        let [judge, attached]: [Judge; 2] = [0; 2].map(|_| Judge::load(spec, PROGRAM));
        let ports = ["eth0", "eth1"].map(|name| net.b.ifindex(name).unwrap());
        let links = ports.map(|ifindex| {
            let (program, mode, replace) = (attached.program(), Mode::Native, Replace::No);
            let attach = Attach { ifindex, program, mode, replace };
            net.b.run(|| kernel::attach(&attach)).unwrap().unwrap()
        });
        let site = Real { net, attached, _links: links };
        changes.iter().for_each(|change| site.change(*change));
        (site, judge, ports.map(|ifindex| ifindex.0))
    }

    fn judge(site: &Real, judge: &mut Judge, packet: &[u8], at: u32) -> Judgement {
        site.net.b.run(|| judge.judge(packet, at)).unwrap()
    }

    /// Devices are looked up in the namespace of the thread that fills the map.
    fn update(site: &Real, judge: &Judge, config: &Config, egress: &[u32]) {
        for judge in [judge, &site.attached] {
            site.net.b.run(|| fill(judge, config, egress)).unwrap();
        }
    }

    fn set_ports(site: &Real, judge: &Judge, ports: &[route::Port]) {
        site.net.b.run(|| fill_ports(judge, ports)).unwrap();
    }

    fn judge_input(site: &Real, judge: &mut Judge, input: &Input) -> Judgement {
        site.net.b.run(|| judge.judge_input(input)).unwrap()
    }
}

impl Real {
    fn change(&self, change: Change) {
        match change {
            Change::Closed(kind, to) => {
                let kind = format!("{kind:?}").to_lowercase();
                self.ip(&format!("route add {kind} {to}"));
            }
            Change::Mtu(mtu) => self.ip(&format!("link set eth1 mtu {mtu}")),
            Change::NotForwarding => {
                self.net.b.set_sysctl("ipv4/conf/eth0/forwarding", "0").unwrap();
            }
            Change::Owner(number) => self.own(number),
            Change::Stripped(..) => panic!("a test run has no device that strips tags"),
            Change::Connections(_) => panic!("only the kernel itself tracks connections"),
        }
    }

    fn own(&self, number: u8) {
        let (name, mac, far) = (format!("v{number}"), vlan_mac(number, 1), vlan_mac(number, 2));
        self.ip(&format!(
            "link add {name} index {number} address {mac} type veth peer name {name}p"
        ));
        self.ip(&format!("link set {name} up"));
        self.ip(&format!("link set {name}p up"));
        for (network, bits) in
            [(format!("10.0.{number}."), 24), (format!("fd00:0:0:{number}::"), 64)]
        {
            let nodad = if bits == 64 { " nodad" } else { "" };
            self.ip(&format!("addr add {network}1/{bits} dev {name}{nodad}"));
            let words = format!("lladdr {far} dev {name} nud permanent");
            self.ip(&format!("neigh replace {network}2 {words}"));
        }
    }

    /// Has the attached program name these interfaces in ICMP errors.
    pub fn extend(&self, interfaces: &[route::Interface]) {
        let [ports, extensions] = [route::PORTS, route::EXTENSIONS].map(|it| self.attached.map(it));
        route::update_extensions(interfaces, ports, extensions).unwrap();
    }

    /// Number of packets that the attached program counted for a reason.
    pub fn count(&self, reason: &str) -> u64 {
        self.attached.count(reason)
    }

    /// `ip` with these words on the router.
    pub fn ip(&self, words: &str) {
        let mut command = self.net.b.command("ip").unwrap();
        let output = command.args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

// ---- the engine -----------------------------------------------------------------------------

impl Routed for VmRuntime {
    type Site = ();

    fn build(spec: &Spec, changes: &[Change]) -> ((), Judge<Self>, [u32; 2]) {
        let world = World::from_toml(WORLD).unwrap();
        let world = changes.iter().fold(world, changed);
        let runtime = Self::new(Options { world, ..Options::default() });
        ((), Judge::on(runtime, spec, PROGRAM), [2, 3])
    }

    fn judge((): &(), judge: &mut Judge<Self>, packet: &[u8], at: u32) -> Judgement {
        judge.judge(packet, at)
    }

    fn update((): &(), judge: &Judge<Self>, config: &Config, egress: &[u32]) {
        fill(judge, config, egress);
    }

    fn set_ports((): &(), judge: &Judge<Self>, ports: &[route::Port]) {
        fill_ports(judge, ports);
    }

    fn judge_input((): &(), judge: &mut Judge<Self>, input: &Input) -> Judgement {
        judge.judge_input(input)
    }
}

fn changed(mut world: World, change: &Change) -> World {
    match *change {
        Change::Closed(kind, to) => {
            let bits = if to.contains(':') { 128 } else { 32 };
            let to = format!("{to}/{bits}").parse().unwrap();
            return world.with_route(Route::new(to).kind(kind));
        }
        Change::Mtu(mtu) => world.interfaces[1].mtu = mtu,
        Change::NotForwarding => world.interfaces[0].forward_ipv4 = false,
        Change::Stripped(protocol, tci) => {
            world.interfaces[0].received.vlan = Some(ReceivedVlan { protocol, tci });
        }
        Change::Owner(number) => {
            let more = OWNER
                .replace("MAC1", &vlan_mac(number, 1))
                .replace("MAC2", &vlan_mac(number, 2))
                .replace("NUMBER", &number.to_string());
            let mut more = World::from_toml(&more).unwrap();
            world.interfaces.append(&mut more.interfaces);
            world.neighbours.append(&mut more.neighbours);
        }
        Change::Connections(text) => {
            world.connections.extend(World::from_toml(text).unwrap().connections);
        }
    }
    world
}

/// The middle host of the `router` topology.
pub(super) const WORLD: &str = r#"
[[interfaces]]
index = 2
name = "eth0"
mac = "02:78:77:00:01:01"
addresses = ["10.0.1.1/24", "fd00:0:0:1::1/64"]
forward_ipv4 = true
forward_ipv6 = true

[[interfaces]]
index = 3
name = "eth1"
mac = "02:78:77:00:02:01"
addresses = ["10.0.2.1/24", "fd00:0:0:2::1/64"]
forward_ipv4 = true
forward_ipv6 = true

[[neighbours]]
ip = "10.0.1.2"
dev = "eth0"
mac = "02:78:77:00:01:02"

[[neighbours]]
ip = "fd00:0:0:1::2"
dev = "eth0"
mac = "02:78:77:00:01:02"

[[neighbours]]
ip = "10.0.2.2"
dev = "eth1"
mac = "02:78:77:00:02:02"

[[neighbours]]
ip = "fd00:0:0:2::2"
dev = "eth1"
mac = "02:78:77:00:02:02"
"#;

const OWNER: &str = r#"
[[interfaces]]
index = NUMBER
name = "vNUMBER"
mac = "MAC1"
addresses = ["10.0.NUMBER.1/24", "fd00:0:0:NUMBER::1/64"]
forward_ipv4 = true
forward_ipv6 = true

[[neighbours]]
ip = "10.0.NUMBER.2"
dev = "vNUMBER"
mac = "MAC2"

[[neighbours]]
ip = "fd00:0:0:NUMBER::2"
dev = "vNUMBER"
mac = "MAC2"
"#;

/// From `a` to `to`, as it reaches the router.
pub fn from_a(to: &str, port: u16) -> Flow {
    let from = if to.contains(':') { "fd00:0:0:1::2" } else { "10.0.1.2" };
    Flow::new(side(A, from, 4000), side(B0, to, port))
}

/// From `a` to `to`, as it leaves for `c`.
pub fn to_c(to: &str, port: u16) -> Flow {
    let from = if to.contains(':') { "fd00:0:0:1::2" } else { "10.0.1.2" };
    Flow::new(side(B1, from, 4000), side(C, to, port)).ttl(63)
}

pub fn side(mac: &str, ip: &str, port: u16) -> Side {
    Side::new(mac, ip, port).unwrap()
}

pub const A: &str = "02:78:77:00:01:02";
pub const B0: &str = "02:78:77:00:01:01";
pub const B1: &str = "02:78:77:00:02:01";
pub const C: &str = "02:78:77:00:02:02";
