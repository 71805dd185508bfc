//! Random routing tables and rules, as commands of `ip -batch`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::AddressPrefix;

use super::plan::{GATEWAYS, PORTS, address, network};
use crate::differential::Rng;

/// What both routers are configured with for some packets.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Commands of `ip -4 -batch -`.
    pub ipv4: Vec<String>,
    /// Commands of `ip -6 -batch -`.
    pub ipv6: Vec<String>,
    /// Destinations and their lengths, of which packets take theirs.
    pub prefixes: Vec<(IpAddr, u8)>,
    /// Sysctl `fib_multipath_hash_policy` of both families.
    pub hash_policy: u8,
}

/// Tables that routes are in, `main` included.
pub const TABLES: [&str; 4] = ["main", "100", "101", "102"];
/// Preferences of the rules of each family start here.
pub const FIRST_RULE: usize = 1000;
/// Rules of a family at most.
pub const RULES: usize = 6;
/// Selectors of rules for which the kernel dissects packets.
const DISSECTED: [&str; 3] = [" ipproto ", " sport ", " dport "];
/// Marks routes that this module made, so that they are found to be removed.
pub const PROTOCOL: u8 = 99;

impl Tables {
    pub fn random(rng: &mut Rng) -> Self {
        let mut tables = Self { hash_policy: rng.below(3) as u8, ..Self::default() };
        tables.ipv4 = tables.family(rng, false);
        tables.ipv6 = tables.family(rng, true);
        tables
    }

    /// Commands by family, with `ip`'s option.
    pub fn commands(&self) -> [(&'static str, &[String]); 2] {
        [("-4", &self.ipv4), ("-6", &self.ipv6)]
    }

    /// Whether the kernel dissects packets to compare them with an IPv6 rule.
    pub fn has_dissecting_rules(&self) -> bool {
        let selects = |one: &String| DISSECTED.iter().any(|word| one.contains(word));
        self.ipv6.iter().any(selects)
    }

    /// Whether a route to the address has several next hops of its own, or those of an object.
    pub fn spreads(&self, address: IpAddr) -> bool {
        let group = format!(" nhid {}", first_nexthop(address.is_ipv6()) + 3);
        let mut routes = self.routes_to(address);
        routes.any(|one| one.contains(" nexthop via ") || one.ends_with(&group))
    }

    /// Whether a route to the address has a nexthop object of which a route has an MTU.
    pub fn shares_mtu(&self, address: IpAddr) -> bool {
        let object = |one: &String| one.split_once(" nhid ").map(|(_, id)| id.to_owned());
        let with_mtu = self.all().filter(|one| one.contains(" mtu "));
        let objects: Vec<String> = with_mtu.filter_map(object).collect();
        self.routes_to(address).filter_map(object).any(|one| objects.contains(&one))
    }

    /// Routes whose destination contains the address.
    fn routes_to(&self, address: IpAddr) -> impl Iterator<Item = &String> {
        self.all().filter(move |one| {
            let to = one.strip_prefix("route add ").and_then(|rest| rest.split(' ').nth(1));
            let to = to.and_then(|to| to.parse::<AddressPrefix>().ok());
            to.is_some_and(|to| to.contains(address))
        })
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.ipv4.iter().chain(&self.ipv6)
    }

    fn family(&mut self, rng: &mut Rng, is_ipv6: bool) -> Vec<String> {
        let mut commands = nexthops(rng, is_ipv6);
        for _ in 0..12 + rng.below(24) {
            let (to, length) = self.prefix(rng, is_ipv6);
            commands.push(route(rng, is_ipv6, &network(to, length)));
            self.prefixes.push((to, length));
        }
        for number in 0..rng.below(RULES + 1) {
            let rule = self.rule(rng, is_ipv6);
            commands.push(format!("rule add pref {} {rule}", FIRST_RULE + number));
        }
        commands
    }

    /// A new prefix, or a longer or shorter one around one that there is.
    fn prefix(&self, rng: &mut Rng, is_ipv6: bool) -> (IpAddr, u8) {
        let known: Vec<_> =
            self.prefixes.iter().filter(|(to, _)| to.is_ipv6() == is_ipv6).collect();
        let longest = if is_ipv6 { 128 } else { 32 };
        let length = match rng.below(8) {
            0 => 0,
            1 => longest,
            _ => rng.below(longest + 1),
        };
        match known.len() {
            len if len > 0 && rng.one_in(2) => (known[rng.below(len)].0, length as u8),
            _ => (unicast(rng, is_ipv6), length as u8),
        }
    }

    fn rule(&self, rng: &mut Rng, is_ipv6: bool) -> String {
        let mut words = Vec::new();
        if rng.one_in(8) {
            words.push("not".to_owned());
        }
        for _ in 0..1 + rng.below(2) {
            words.push(self.selector(rng, is_ipv6));
        }
        words.push(match rng.below(10) {
            0 => "blackhole".to_owned(),
            1 => "unreachable".to_owned(),
            2 => "prohibit".to_owned(),
            3 | 4 => format!("lookup main suppress_prefixlength {}", rng.pick(&[0, 8, 16])),
            _ => format!("lookup {}", rng.pick(&TABLES)),
        });
        words.join(" ")
    }

    fn selector(&self, rng: &mut Rng, is_ipv6: bool) -> String {
        let mut port = || match rng.below(3) {
            0 => "1-20000".to_owned(),
            1 => "7".to_owned(),
            _ => format!("{}-65535", 1 + rng.below(60_000)),
        };
        let ports = [port(), port()];
        let (to, length) = self.prefix(rng, is_ipv6);
        let prefix = network(to, length.min(if is_ipv6 { 48 } else { 24 }));
        match rng.below(8) {
            0 => format!("from {prefix}"),
            1 => format!("to {prefix}"),
            2 => format!("iif {}", rng.pick(&["p0", "p1", "lo"])),
            3 => format!("tos {}", rng.pick(&["0x04", "0x08", "0x10", "0x00"])),
            4 => format!("fwmark {}", rng.pick(&["0x1", "0x0/0x1", "0x1/0x3"])),
            5 => format!("ipproto {}", rng.pick(&["udp", "tcp", "17", "47", "1", "58", "44"])),
            6 => format!("sport {}", ports[0]),
            _ => format!("dport {}", ports[1]),
        }
    }
}

/// Nexthop objects: three with a gateway, a group of them and one that drops. Numbers are unique
/// for both families.
fn nexthops(rng: &mut Rng, is_ipv6: bool) -> Vec<String> {
    let first = first_nexthop(is_ipv6);
    let mut commands: Vec<String> = (first..first + 3)
        .map(|id| format!("nexthop add id {id} {} proto {PROTOCOL}", gateway(rng, is_ipv6)))
        .collect();
    let weight = 1 + rng.below(8);
    let group = format!("{first},{weight}/{}", first + 1);
    commands.push(format!("nexthop add id {} group {group} proto {PROTOCOL}", first + 3));
    commands.push(format!("nexthop add id {} blackhole proto {PROTOCOL}", first + 4));
    commands
}

fn first_nexthop(is_ipv6: bool) -> usize {
    if is_ipv6 { 61 } else { 41 }
}

fn gateway(rng: &mut Rng, is_ipv6: bool) -> String {
    let port = if rng.one_in(8) { 0 } else { 1 + rng.below(usize::from(PORTS) - 1) as u8 };
    let host = if rng.one_in(6) { GATEWAYS[2] } else { rng.pick(&GATEWAYS[..2]) };
    format!("via {} dev p{port}", address(is_ipv6, port, host))
}

fn route(rng: &mut Rng, is_ipv6: bool, to: &str) -> String {
    let table = if rng.one_in(2) { "main" } else { rng.pick(&TABLES) };
    let kind = match rng.below(16) {
        0 => Some("blackhole"),
        1 => Some("unreachable"),
        2 => Some("prohibit"),
        3 => Some("throw"),
        _ => None,
    };
    let head =
        format!("route add {} {to} table {table} proto {PROTOCOL}", kind.unwrap_or("unicast"));
    let mut words = vec![head];
    if rng.one_in(6) {
        words.push(format!("metric {}", 1 + rng.below(3)));
    }
    if !is_ipv6 && rng.one_in(8) {
        words.push(format!("tos {}", rng.pick(&["0x04", "0x08", "0x10"])));
    }
    if kind.is_some() {
        return words.join(" ");
    }
    if rng.one_in(6) {
        words.push(format!("mtu {}", rng.pick(&["lock 1000", "1280", "1290", "1400"])));
    }
    let port = 1 + rng.below(usize::from(PORTS) - 1);
    words.push(match rng.below(10) {
        0 | 1 => {
            let hops = (0..2 + rng.below(2))
                .map(|_| format!("nexthop {} weight {}", gateway(rng, is_ipv6), 1 + rng.below(3)));
            hops.collect::<Vec<_>>().join(" ")
        }
        2 => format!("nhid {}", first_nexthop(is_ipv6) + rng.below(5)),
        3 => format!("dev p{port}"),
        4 if !is_ipv6 => format!("via inet6 {} dev p{port}", address(true, port as u8, 2)),
        _ => gateway(rng, is_ipv6),
    });
    words.join(" ")
}

/// An address that can be routed, out of few networks, so that prefixes meet.
pub fn unicast(rng: &mut Rng, is_ipv6: bool) -> IpAddr {
    if is_ipv6 {
        let mut parts = [0; 8];
        parts[0] = rng.pick(&[0x2001, 0xfd20, 0xfd21, 0x2a00]);
        for part in &mut parts[1..] {
            let other = rng.word() as u16;
            *part = rng.pick(&[0, 1, 0x8000, other]);
        }
        Ipv6Addr::from(parts).into()
    } else {
        let other = 1 + rng.below(126) as u8;
        let first = rng.pick(&[10, 20, 21, 198, other]);
        let mut part = || {
            let other = rng.word() as u8;
            rng.pick(&[0, 1, 128, other])
        };
        Ipv4Addr::new(first, 64 | part(), part(), part()).into()
    }
}
