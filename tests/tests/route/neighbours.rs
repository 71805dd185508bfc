//! Next hops that only XDP uses: their entries are confirmed, and a host that has another MAC
//! address is found again.

use std::net::Ipv4Addr;
use std::process::Child;

use lab::frame::{Flow, Side};
use lab::{Capture, LinkOptions, Router, until};
use packet::Mac;
use xway_tests::stage::PATIENCE;
use xway_tests::xway::Xway;

const HOP: &str = "10.0.2.2";
const OTHER: Mac = Mac([2, 0, 0, 0, 0, 0x77]);

/// A router, followed by a daemon, whose entry of the sink is stale.
struct Net {
    net: Router,
    daemon: Child,
    _xway: Xway,
}

impl Drop for Net {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Net {
    /// The daemon has further options.
    fn new(options: &[&str]) -> Self {
        let net = Router::build(&LinkOptions::default()).unwrap();
        // As fast as the kernel can, so that no test waits for its defaults.
        let settings =
            [("delay_first_probe_time", "0"), ("retrans_time_ms", "100"), ("ucast_solicit", "2")];
        for (name, value) in settings {
            net.b.set_sysctl(&format!("ipv4/neigh/eth1/{name}"), value).unwrap();
        }
        let xway = Xway::new();
        xway.run_in(&net.b, &["route", "start", "eth0", "eth1"]).ended(0);
        let words = [&["daemon", "--listen", "127.0.0.1:0"], options].concat();
        let daemon = xway.command_in(&net.b, &words).spawn().unwrap();
        let this = Self { net, daemon, _xway: xway };
        let mac = this.net.c.mac("eth0").unwrap();
        this.ip(&format!("neigh replace {HOP} lladdr {mac} dev eth1 nud stale"));
        this
    }

    fn ip(&self, words: &str) {
        let status = self.net.b.command("ip").unwrap().args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    }

    /// The kernel's entry: its state and its address.
    fn entry(&self) -> (&'static str, Option<Mac>) {
        let all = self.net.b.netlink().unwrap().neighbours().unwrap();
        let entry = all.iter().find(|one| one.ip == HOP.parse::<Ipv4Addr>().unwrap());
        entry.map_or(("none", None), |one| (one.state_name(), one.mac))
    }

    /// A frame from the first host to the last one.
    fn frame(&self) -> Vec<u8> {
        let side = |mac, ip: &str| Side { mac, ip: ip.parse().unwrap(), port: 4000 };
        let from = side(self.net.a.mac("eth0").unwrap(), "10.0.1.2");
        Flow::new(from, side(self.net.b.mac("eth0").unwrap(), HOP)).udp(b"x").unwrap()
    }

    /// Sends a frame with each attempt, until something is so.
    fn send_until(&self, what: &str, is: impl Fn() -> bool) {
        let (sender, frame) = (Capture::open(&self.net.a, "eth0").unwrap(), self.frame());
        until(what, PATIENCE, || {
            sender.send(&frame)?;
            Ok(is().then_some(()))
        })
        .unwrap_or_else(|error| panic!("{error}: {:?}", self.entry()));
    }
}

#[test]
fn an_entry_that_is_used_is_confirmed_and_one_that_is_not_remains() {
    // Also by a daemon that has given up all rights but those that it needs for this.
    let net = Net::new(&["--no-apply"]);
    net.ip("neigh replace 10.0.2.9 lladdr 02:00:00:00:00:09 dev eth1 nud stale");
    net.send_until("the confirmation of the next hop", || net.entry().0 == "reachable");
    let unused = net.net.b.netlink().unwrap().neighbours().unwrap();
    let unused = unused.iter().find(|one| one.ip == Ipv4Addr::new(10, 0, 2, 9)).unwrap();
    assert_eq!(unused.state_name(), "stale", "nothing was sent to it");
}

#[test]
fn a_host_that_has_another_mac_address_is_found_again() {
    let net = Net::new(&[]);
    net.send_until("the confirmation of the next hop", || net.entry().0 == "reachable");
    let change = format!("link set eth0 address {OTHER}");
    let mut ip = net.net.c.command("ip").unwrap();
    assert!(ip.args(change.split(' ')).status().unwrap().success());
    let old = net.entry().1.unwrap();
    net.ip(&format!("neigh replace {HOP} lladdr {old} dev eth1 nud stale"));

    let sink = Capture::open(&net.net.c, "eth0").unwrap();
    net.send_until("the new address", || net.entry() == ("reachable", Some(OTHER)));
    net.send_until("a frame at the new address", || {
        sink.next(std::time::Duration::from_millis(100), |frame| frame[..6] == OTHER.0).is_ok()
    });
}
