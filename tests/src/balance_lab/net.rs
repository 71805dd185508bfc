//! The hosts of the campaign and their links.

use std::net::{IpAddr, Ipv4Addr};

use lab::{Host, Lab};
use sys::net::NewAddress;

use super::balancer::{Balancer, interface};
use super::{Delivery, Options, SERVICE};
use crate::routing::connect;
use crate::xway::Xway;

#[derive(Debug)]
pub struct Net {
    pub client: Host,
    pub balancers: Vec<Balancer>,
    pub servers: Vec<Host>,
    /// State of the programs of each backend.
    pub states: Vec<Xway>,
    /// State of the programs that make balancers' veth accept frames of `XDP_TX`.
    others: Vec<Xway>,
    _lab: Lab,
}

impl Net {
    pub fn build(options: &Options) -> Self {
        let mut lab = Lab::new().unwrap();
        let client = lab.add_host("client").unwrap();
        client.set_sysctl("ipv4/fib_multipath_hash_policy", "1").unwrap();
        client.set_sysctl("ipv4/tcp_tw_reuse", "1").unwrap();
        client.set_sysctl("ipv4/ip_local_port_range", "1024 65535").unwrap();
        for scope in ["all", "default"] {
            let path = format!("ipv4/conf/{scope}/ignore_routes_with_linkdown");
            client.set_sysctl(&path, "1").unwrap();
        }
        add_address(&client, CLIENT);
        let count = if options.deaths > 0 { 2 } else { 1 };
        let balancers = (0..count).map(|number| {
            let host = lab.add_host(&format!("b{number}")).unwrap();
            host.set_sysctl("ipv4/ip_forward", "1").unwrap();
            let at = |last| Ipv4Addr::new(10, 1, number as u8, last);
            connect((&client, &client_interface(number), at(2)), (&host, "left", at(1)));
            Balancer::new(host, options.backends, count > 1)
        });
        let balancers: Vec<_> = balancers.collect();
        if let [one, other] = &balancers[..] {
            let at = |last| Ipv4Addr::new(10, 5, 0, last);
            connect((&one.host, "sync", at(1)), (&other.host, "sync", at(2)));
        }
        let servers = (0..options.backends).map(|number| {
            let server = lab.add_host(&format!("s{number}")).unwrap();
            add_backend(&client, &balancers, &server, number);
            server
        });
        let servers = servers.collect();
        let states = (0..options.backends).map(|_| Xway::new()).collect();
        let mut net = Self { client, balancers, servers, states, others: Vec::new(), _lab: lab };
        if options.delivery == Delivery::Geneve {
            net.open_tunnels();
        }
        net.route(&(0..count).collect::<Vec<_>>());
        net
    }

    /// Backends open tunnels, and send segments that they have no socket for to other backends.
    fn open_tunnels(&mut self) {
        for (server, xway) in self.servers.iter().zip(&self.states) {
            server.set_sysctl("ipv4/ip_forward", "1").unwrap();
            for balancer in 0..self.balancers.len() {
                let interface = server_interface(balancer);
                let words = ["balance", "backend", &interface, "--from", "10.0.0.0/8"];
                xway.run_in(server, &[&words[..], &["--service", SERVICE]].concat()).ended(0);
            }
        }
        for balancer in &self.balancers {
            let xway = Xway::new();
            for out in &balancer.out {
                xway.run_in(&balancer.host, &["drop", out, "any udp 7"]).ended(0);
            }
            self.others.push(xway);
        }
    }

    /// Where packets for a backend are delivered to, by any balancer.
    pub fn address(&self, number: usize) -> Ipv4Addr {
        backend(0, number, 2)
    }

    /// The table `sync` of the file of services, if there are several balancers.
    pub fn sync_table(&self) -> String {
        if self.balancers.len() < 2 {
            return String::new();
        }
        let peers = "'10.5.0.1:7946', '10.5.0.2:7946'";
        format!("[sync]\npeers = [{peers}]\nkey_file = 'sync.key'\n")
    }

    /// The client sends connections to the service by these balancers.
    pub fn route(&self, balancers: &[usize]) {
        let hops = balancers.iter().map(|number| {
            format!(" nexthop via 10.1.{number}.1 dev {}", client_interface(*number))
        });
        let hops = hops.collect::<String>();
        ip(&self.client, &format!("route replace {SERVICE} src {CLIENT}{hops}"));
    }
}

/// Connects a backend with all balancers and, past them, with the client.
fn add_backend(client: &Host, balancers: &[Balancer], server: &Host, number: usize) {
    for (which, balancer) in balancers.iter().enumerate() {
        let [near, far] = [1, 2].map(|last| backend(which, number, last));
        let (to, from) = (interface(number), server_interface(which));
        connect((&balancer.host, &to, near), (server, &from, far));
        let mac = balancer.host.mac(&to).unwrap();
        ip(server, &format!("neigh replace {near} lladdr {mac} dev {from} nud permanent"));
        // What came from a balancer goes to other backends by the same interface.
        let table = 100 + which;
        ip(server, &format!("route add 10.2.0.0/16 via {near} dev {from} table {table}"));
        ip(server, &format!("rule add iif {from} lookup {table}"));
        if which > 0 {
            ip(&balancer.host, &format!("route add {} dev {to}", backend(0, number, 2)));
        }
    }
    let at = |last| Ipv4Addr::new(10, 4, number as u8, last);
    connect((client, &format!("from{number}"), at(1)), (server, "back", at(2)));
    ip(server, &format!("route add default via {} dev back", at(1)));
    add_address(server, SERVICE);
}

/// An address on the loopback interface.
fn add_address(host: &Host, address: &str) {
    let ip: IpAddr = address.parse().unwrap();
    let mut netlink = host.netlink().unwrap();
    let lo = netlink.link("lo").unwrap().ifindex;
    netlink.add_address(lo, NewAddress { ip, prefix: 32 }).unwrap();
}

fn ip(host: &Host, words: &str) {
    let output = host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {output:?}");
}

/// An address of the link between a balancer and a backend.
fn backend(balancer: usize, number: usize, last: u8) -> Ipv4Addr {
    let network = if balancer == 0 { 2 } else { 3 };
    Ipv4Addr::new(10, network, number as u8, last)
}

/// The client's interface towards a balancer.
pub fn client_interface(balancer: usize) -> String {
    format!("eth{balancer}")
}

/// A backend's interface towards a balancer.
pub fn server_interface(balancer: usize) -> String {
    format!("eth{balancer}")
}

/// The client's address, which is on none of its links.
const CLIENT: &str = "10.9.0.1";
