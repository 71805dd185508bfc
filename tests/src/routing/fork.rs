//! A router between a source and two neighbors, which announce the same network by BGP.
//!
//! ```text
//!                           ┌ up   ── eth0 up     10.0.1.2
//!   src eth0 ── left router ┤
//!   10.1.0.2    10.1.0.1    └ down ── eth0 down   10.0.2.2
//! ```
//! All neighbors' addresses are static, so that only routes change.

use std::net::Ipv4Addr;

use lab::{Host, Lab};

use super::{Bird, LineRouter, Routing, connect, know};

/// The hosts, the router and BIRD on it and on both neighbors; dropped, they are removed. Fields
/// are dropped in this order.
#[derive(Debug)]
pub struct Fork {
    pub router: LineRouter,
    _bird: Bird,
    /// BIRD of `up` and `down`.
    pub peers: [Bird; 2],
    pub src: Host,
    /// `up` and `down`.
    pub hosts: [Host; 2],
    _lab: Lab,
}

impl Fork {
    /// Both neighbors announce `network`. BIRD of the router prefers `up`, or uses both with
    /// `merges`. Waits until the kernel has the route.
    pub fn build(routing: Routing, network: &str, merges: bool) -> Self {
        let mut lab = Lab::new().unwrap();
        let [src, host, up, down] =
            ["src", "router", "up", "down"].map(|name| lab.add_host(name).unwrap());
        host.set_sysctl("ipv4/ip_forward", "1").unwrap();
        host.set_sysctl("ipv4/fib_multipath_hash_policy", "1").unwrap();
        let [from, left] = [2, 1].map(|last| Ipv4Addr::new(10, 1, 0, last));
        connect((&src, "eth0", from), (&host, "left", left));
        know(&src, "eth0", &host, "left", left);
        know(&host, "left", &src, "eth0", from);
        for (link, name, other) in [(1, "up", &up), (2, "down", &down)] {
            let [near, far] = [1, 2].map(|last| Ipv4Addr::new(10, 0, link, last));
            connect((&host, name, near), (other, "eth0", far));
            know(&host, name, other, "eth0", far);
            know(other, "eth0", &host, name, near);
        }
        let bird = Bird::start(&host, &chooser(merges), &[]);
        let peers =
            [(&up, 1), (&down, 2)].map(|(host, link)| Bird::start(host, &peer(link, network), &[]));
        let router = LineRouter::start(host, routing, &["left", "up", "down"]);
        router.until_route(network, "via 10.0.1.2", true);
        // The other one may come later, and is not in the kernel if it is not preferred.
        lab::until("both announcements", super::line::ROUTES, || {
            let routes = bird.run(&format!("show route {network} all"));
            Ok((routes.matches("BGP.next_hop").count() == 2).then_some(()))
        })
        .unwrap();
        Self { router, _bird: bird, peers, src, hosts: [up, down], _lab: lab }
    }
}

/// Configuration of BIRD on the router.
fn chooser(merges: bool) -> String {
    let merge = if merges { "on" } else { "off" };
    let (up, down) = if merges { (100, 100) } else { (200, 100) };
    let session = |link: u8, preference: u32| {
        format!(
            "protocol bgp p{link} {{ local as 64501; neighbor 10.0.{link}.2 as 64510;
               connect delay time 1; ipv4 {{ export none;
                 import filter {{ bgp_local_pref = {preference}; accept; }}; }}; }}\n"
        )
    };
    format!(
        "router id 10.9.9.1; protocol device {{}}
         protocol kernel {{ merge paths {merge};
           ipv4 {{ export where source = RTS_BGP; }}; }}\n{}{}",
        session(1, up),
        session(2, down)
    )
}

/// Configuration of BIRD on a neighbor.
fn peer(link: u8, network: &str) -> String {
    format!(
        "router id 10.9.9.1{link}; protocol device {{}}
         protocol static flap {{ ipv4; route {network} blackhole; }}
         protocol bgp p {{ local as 64510; neighbor 10.0.{link}.1 as 64501;
           connect delay time 1; ipv4 {{ import none; export all; next hop self; }}; }}"
    )
}
