//! Why the two routers may differ: a short list, each with a rule that a difference must meet.
//!
//! Rule: a difference that no reason explains is a finding. Reasons are tried in order.

use std::net::IpAddr;

use super::packets::{FRAGMENT, Packet};
use super::plan::client;
use super::seen::{Ip, Kind, Outcome, Seen, summary};
use super::tables::Tables;

/// A packet that the two routers treated differently.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// Number of the case, by which the packet's sender may be found.
    pub case: usize,
    pub packet: &'a Packet,
    pub tables: &'a Tables,
    pub kernel: &'a Outcome,
    pub ours: &'a Outcome,
}

/// A known cause of differences.
#[derive(Debug)]
pub struct Reason {
    pub name: &'static str,
    /// What differs and why, as a sentence.
    pub about: &'static str,
    /// No router can avoid it, or no host can notice it.
    pub is_by_nature: bool,
    explains: fn(&Difference<'_>) -> bool,
}

/// All reasons, in the order in which they are tried.
pub const REASONS: &[Reason] = &[
    Reason {
        name: "icmp-id",
        about: "ICMP errors differ in their own IPv4 identification or IPv6 flow label, which are \
                random",
        is_by_nature: true,
        explains: |one| all_equal(one, without_id),
    },
    Reason {
        name: "icmp-source",
        about: "ICMPv6 errors have an address of the interface by which they leave, which is RFC \
                4443, and not of the interface that received their cause",
        is_by_nature: true,
        explains: |one| {
            let leaves = |outcome: &Outcome| outcome.iter().all(|seen| seen.port != 0);
            leaves(one.ours) && all_equal(one, without_source)
        },
    },
    Reason {
        name: "icmp-next-hop",
        about: "an ICMP error to a sender behind several next hops takes another one: the kernel \
                hashes the packet that caused it, bpf_fib_lookup() the addresses of the error",
        is_by_nature: true,
        explains: answers_elsewhere,
    },
    Reason {
        name: "error-limit",
        about: "an IPv4 error about a closed route to an address with several packets: the kernel \
                limits these to each address, by settings of the host (`route/error_cost`)",
        is_by_nature: true,
        explains: |one| {
            let is_client = |from| from == client(false, one.case);
            let is_error =
                |seen: &Seen| matches!(seen.kind(&one.packet.frame), Kind::Icmp(3, 0 | 1 | 13));
            one.kernel.is_empty()
                && one.ours.iter().all(is_error)
                && source(one).is_some_and(|from| from.is_ipv4() && !is_client(from))
        },
    },
    Reason {
        name: "redirect",
        about: "the kernel also sent an ICMP redirect, which it limits by time",
        is_by_nature: true,
        explains: |one| without_redirects(one, one.kernel) == without_redirects(one, one.ours),
    },
    Reason {
        name: "padding",
        about: "bytes after the IP packet are forwarded, which the kernel removes",
        is_by_nature: true,
        explains: |one| all_equal(one, |_, frame| trimmed(frame)),
    },
    Reason {
        name: "nexthop-mtu",
        about: "a packet to a nexthop object with several routes of different MTUs: Linux keeps \
                one cached route for the object, with the MTU of the route that was used first",
        is_by_nature: true,
        explains: |one| destination(one).is_some_and(|to| one.tables.shares_mtu(to)),
    },
    Reason {
        name: "multipath-label",
        about: "the next hop among several of an IPv6 packet with a flow label: where the kernel \
                dissects packets (hash policy 2, and 0 with rules by protocol or ports), it hashes \
                the label in host order, which no argument of bpf_fib_lookup() yields",
        is_by_nature: true,
        explains: |one| {
            let policy = one.tables.hash_policy;
            let is_dissected = policy == 2 || (policy == 0 && one.tables.has_dissecting_rules());
            is_dissected && destination6(one).is_some_and(|to| one.tables.spreads(to))
        },
    },
    Reason {
        name: "multipath-fragment",
        about: "the next hop among several of an IPv6 fragment: hash policy 0 hashes the number of \
                the fragment header, bpf_fib_lookup() the protocol by which it compares rules",
        is_by_nature: true,
        explains: |one| {
            let is_fragment = one.packet.frame.get(20) == Some(&FRAGMENT);
            let spreads = |to| one.tables.hash_policy == 0 && one.tables.spreads(to);
            is_fragment && destination6(one).is_some_and(spreads)
        },
    },
];

/// The reason of a difference; `None` if there is no listed one.
pub fn reason(one: &Difference<'_>) -> Option<&'static Reason> {
    REASONS.iter().find(|reason| (reason.explains)(one))
}

/// What both did, for differences without a reason.
pub fn signature(one: &Difference<'_>) -> String {
    let sent = &one.packet.frame;
    let [kernel, ours] = [one.kernel, one.ours].map(|outcome| summary(outcome, sent));
    if kernel == ours {
        let ports = |outcome: &Outcome| outcome.iter().map(|seen| seen.port).collect::<Vec<_>>();
        let what =
            if ports(one.kernel) == ports(one.ours) { "other bytes" } else { "another port" };
        return format!("{kernel}, {what}");
    }
    format!("kernel: {kernel}; ours: {ours}")
}

/// Whether both are equal where a part of each frame is left out.
fn all_equal(one: &Difference<'_>, change: fn(&Difference<'_>, &[u8]) -> Vec<u8>) -> bool {
    let changed = |outcome: &Outcome| {
        outcome.iter().map(|seen| (seen.port, change(one, &seen.frame))).collect::<Vec<_>>()
    };
    changed(one.kernel) == changed(one.ours)
}

/// Answers without their own identification and header checksum, or flow label.
fn without_id(one: &Difference<'_>, frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let Some(ip) = Ip::of(&frame) else { return frame };
    if ip.has_addresses_of(&frame, &one.packet.frame) {
        return frame;
    }
    if ip.is_ipv6 {
        frame[15] &= 0xf0;
        frame[16..18].fill(0);
    } else {
        frame[18..20].fill(0);
        frame[24..26].fill(0);
    }
    frame
}

/// ICMPv6 errors without their flow label, source and checksum.
fn without_source(one: &Difference<'_>, frame: &[u8]) -> Vec<u8> {
    let mut frame = without_id(one, frame);
    if Ip::of(&frame).is_some_and(|ip| ip.is_ipv6 && frame.len() > 58) {
        frame[22..38].fill(0);
        frame[56..58].fill(0);
    }
    frame
}

/// Both only answered, where there are routes with several next hops, of which the kernel's may not
/// be reachable.
fn answers_elsewhere(one: &Difference<'_>) -> bool {
    let is_error = |kind: Kind| matches!(kind, Kind::Icmp(1 | 2 | 3 | 11, _));
    let kinds = |outcome: &Outcome| -> Vec<_> {
        outcome.iter().map(|seen| seen.kind(&one.packet.frame)).collect()
    };
    let (kernel, ours) = (kinds(one.kernel), kinds(one.ours));
    let is_same = kernel.is_empty() || kernel == ours;
    let spreads = source(one).is_some_and(|from| one.tables.spreads(from));
    spreads && ours.len() == 1 && ours.into_iter().all(is_error) && is_same
}

fn without_redirects(one: &Difference<'_>, outcome: &Outcome) -> Vec<(u8, Vec<u8>)> {
    let is_redirect = |kind| matches!(kind, Kind::Icmp(5 | 137, _));
    let rest = outcome.iter().filter(|seen| !is_redirect(seen.kind(&one.packet.frame)));
    rest.map(|seen| (seen.port, without_id(one, &seen.frame))).collect()
}

fn trimmed(frame: &[u8]) -> Vec<u8> {
    let end = Ip::of(frame).map_or(frame.len(), |ip| ip.end.min(frame.len()));
    frame[..end].to_vec()
}

/// The address that the packet is sent to.
fn destination(one: &Difference<'_>) -> Option<IpAddr> {
    let frame = &one.packet.frame;
    Some(match Ip::of(frame)?.is_ipv6 {
        true => IpAddr::from(*frame.get(38..)?.first_chunk::<16>()?),
        false => IpAddr::from(*frame.get(30..)?.first_chunk::<4>()?),
    })
}

fn destination6(one: &Difference<'_>) -> Option<IpAddr> {
    destination(one).filter(IpAddr::is_ipv6)
}

/// The address that the packet is from.
fn source(one: &Difference<'_>) -> Option<IpAddr> {
    let frame = &one.packet.frame;
    Some(match Ip::of(frame)?.is_ipv6 {
        true => IpAddr::from(*frame.get(22..)?.first_chunk::<16>()?),
        false => IpAddr::from(*frame.get(26..)?.first_chunk::<4>()?),
    })
}
