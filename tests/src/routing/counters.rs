//! Where packets end, by the counters of the kernel and of our router.

use std::collections::BTreeMap;

use lab::Host;

use super::LineRouter;

/// Packets that a router dropped, by counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops(pub BTreeMap<String, u64>);

impl Drops {
    /// What the stack and the interfaces of a router have counted, and what our program dropped or
    /// answered. Packets that the program passed are the stack's.
    pub fn of(router: &LineRouter) -> Self {
        let mut drops = stack(&router.host);
        for (reason, count) in reasons(router) {
            if ENDS.contains(&reason.as_str()) {
                drops.insert(reason, count);
            }
        }
        Self(drops)
    }

    /// What was counted since.
    pub fn since(&self, before: &Self) -> Self {
        let more = |(name, count): (&String, &u64)| {
            let more = count - before.0.get(name).copied().unwrap_or_default();
            (more > 0).then(|| (name.clone(), more))
        };
        Self(self.0.iter().filter_map(more).collect())
    }

    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// The packets that our router received, by reason; none for the kernel's.
pub fn reasons(router: &LineRouter) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    let Some(xway) = &router.xway else { return all };
    let report = xway.run_in(&router.host, &["--json", "route", "show"]).json(0);
    for port in report["ports"].as_array().unwrap() {
        for (reason, count) in port["reasons"].as_object().unwrap() {
            *all.entry(reason.clone()).or_default() += count.as_u64().unwrap();
        }
    }
    all
}

/// Packets that our router received and left for this reason.
pub fn passed(router: &LineRouter, reason: &str) -> u64 {
    reasons(router).get(reason).copied().unwrap_or_default()
}

/// Netlink messages that the kernel dropped because a socket of the router's host was full.
pub fn netlink_drops(router: &LineRouter) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/netlink").unwrap();
    let table = router.host.run(read).unwrap();
    // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.map(|row| row[8].parse::<u64>().unwrap()).sum()
}

fn stack(host: &Host) -> BTreeMap<String, u64> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
    let (snmp, netstat, dev) = host
        .run(|| (read("snmp").unwrap(), read("netstat").unwrap(), read("dev").unwrap()))
        .unwrap();
    let mut all = BTreeMap::new();
    let lines: Vec<&str> = snmp.lines().chain(netstat.lines()).collect();
    for pair in lines.chunks_exact(2) {
        let columns = pair[0].split_whitespace().zip(pair[1].split_whitespace());
        let group = columns.clone().next().unwrap().0;
        for (name, count) in columns.skip(1) {
            let name = format!("{group}{name}");
            if STACK.contains(&name.as_str()) {
                all.insert(name, count.parse().unwrap());
            }
        }
    }
    for line in dev.lines().skip(2) {
        let (name, counts) = line.split_once(':').unwrap();
        let counts: Vec<u64> = counts.split_whitespace().map(|one| one.parse().unwrap()).collect();
        // Columns of receiving first: bytes, packets, errors, drops; eight for each direction.
        all.insert(format!("{} received and dropped", name.trim()), counts[3]);
        all.insert(format!("{} not sent", name.trim()), counts[11]);
    }
    all
}

/// Counters of `/proc/net/snmp` and `/proc/net/netstat` for packets that are not forwarded. Their
/// sum is that of the packets, because each is counted by one of them.
const STACK: [&str; 6] = [
    "Ip:InHdrErrors",
    "Ip:InAddrErrors",
    "Ip:InDiscards",
    "Ip:OutDiscards",
    "Ip:FragFails",
    "IpExt:InNoRoutes",
];
/// Reasons of our router that are the end of a packet.
const ENDS: [&str; 8] = [
    "blackhole",
    "sent-time-exceeded",
    "sent-unreachable",
    "sent-prohibited",
    "sent-too-big",
    "icmp-limit",
    "unanswerable",
    "reverse-path",
];
