//! The forward program on the middle host of the `router` topology, loaded twice: one is attached
//! to both ports and meets what hosts send on their own; the other only judges what a test shows
//! it, so that its counters are the test's.

use functions::forward::{self, Config, Maps, NAT4, NAT6, OBJECT, PROGRAM, TX};
use kernel::{Attach, Link, Mode, Replace};
use lab::frame::{Flow, Side};
use lab::{LinkOptions, Router};
use spec::Spec;

use super::{Judge, Judgement};

/// Which port of the router a packet comes in at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Towards `a`, 10.0.1.0/24.
    Eth0,
    /// Towards `c`, 10.0.2.0/24.
    Eth1,
}

pub struct Forward {
    pub net: Router,
    judge: Judge,
    attached: Judge,
    ports: [u32; 2],
    _links: [Link; 2],
}

impl Forward {
    pub fn new(translations: &[&str]) -> Self {
        let translations = translations.iter().map(|text| text.parse().unwrap()).collect();
        Self::with(&Config { translations, ..Config::default() })
    }

    pub fn with(config: &Config) -> Self {
        let net = Router::build(&LinkOptions::default()).unwrap();
        let mut spec = Spec::parse("forward", OBJECT).unwrap();
        config.apply(&mut spec).unwrap();
        let [judge, attached]: [Judge; 2] = [0; 2].map(|_| Judge::load(&spec, PROGRAM));
        let ports = ["eth0", "eth1"].map(|name| net.b.ifindex(name).unwrap());
        let links = ports.map(|ifindex| {
            let (program, mode, replace) = (attached.program(), Mode::Native, Replace::No);
            let attach = Attach { ifindex, program, mode, replace };
            net.b.run(|| kernel::attach(&attach)).unwrap().unwrap()
        });
        let ports = ports.map(|ifindex| ifindex.0);
        let this = Self { net, judge, attached, ports, _links: links };
        this.update(config, &this.ports);
        this
    }

    /// Devices are looked up in the namespace of whoever fills the map.
    pub fn update(&self, config: &Config, egress: &[u32]) {
        for judge in [&self.judge, &self.attached] {
            let maps = Maps { nat4: judge.map(NAT4), nat6: judge.map(NAT6), tx: judge.map(TX) };
            self.net.b.run(|| forward::update(config, egress, &maps)).unwrap().unwrap();
        }
    }

    pub fn judge(&mut self, port: Port, packet: &[u8]) -> Judgement {
        let (judge, ifindex) = (&mut self.judge, self.ports[port as usize]);
        self.net.b.run(|| judge.judge(packet, ifindex)).unwrap()
    }

    /// `ip` with these words on the router.
    pub fn ip(&self, words: &str) {
        let mut command = self.net.b.command("ip").unwrap();
        let output = command.args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

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
