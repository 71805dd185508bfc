//! Random chains of nft, of tests and verdicts that the filter has, too.

use crate::random::Random;

const MATCHES: &[&str] = &[
    "ip saddr 192.0.2.0/24",
    "ip daddr { 198.51.100.2, 203.0.113.0/24 }",
    "ip saddr != 192.0.2.1",
    "ip saddr @some",
    "ip6 saddr 2001:db8::/126",
    "ip6 daddr != 2001:db8::2",
    "tcp dport 80",
    "tcp sport 1000-5000",
    "udp dport { 53, 4000-5000 }",
    "udp sport != 53",
    "tcp flags & (syn|ack) == syn",
    "tcp flags ! fin,rst",
    "tcp flags syn,fin",
    "tcp flags { syn, ack }",
    "icmp type echo-request",
    "icmpv6 type { echo-request, nd-neighbor-solicit }",
    "meta l4proto { tcp, udp } th dport 443",
    "meta l4proto udp",
    "meta protocol ip",
    "meta protocol ip6",
    "ip protocol { tcp, icmp }",
    "ip6 nexthdr 17",
    "vlan id 7",
    "vlan id { 8, 100 }",
    "ip ttl < 5",
    "ip6 hoplimit 64",
    "ip dscp 0",
    "ether daddr ff:ff:ff:ff:ff:ff",
    "@th,0,16 1234",
];

/// What the stack itself sends is let through first; the last rule counts what is left over.
pub fn script(random: &mut Random) -> String {
    chain(random, NOT_OURS)
}

/// The script with frames from [`MARKER`] counted before all rules.
pub fn marked_script(random: &mut Random) -> String {
    chain(random, &format!("{NOT_OURS} counter accept\nether saddr {MARKER}"))
}

/// Frames from this address show that those sent before them have arrived: the second rule counts
/// them.
const MARKER: &str = "02:99:00:00:00:03";

fn chain(random: &mut Random, first: &str) -> String {
    let mut text = format!(
        "flush ruleset\ntable netdev t {{\n\
        set some {{ type ipv4_addr; flags interval; elements = {{ {SOME} }}; }}\n\
        chain in {{ type filter hook ingress device \"eth0\" priority 0; policy accept;\n\
        {first} counter accept\n"
    );
    for _ in 0..1 + random.below(8) {
        let matches = (0..1 + random.below(2)).map(|_| *random.one(MATCHES)).collect::<Vec<_>>();
        let verdict = random.one(&["accept", "drop"]);
        text.push_str(&format!("{} counter {verdict}\n", matches.join(" ")));
    }
    text + "counter drop\n}\n}\n"
}

const SOME: &str = "192.0.2.1, 198.51.100.0/25";
/// All frames of the tests come from one of these, or are damaged there and are left out.
const NOT_OURS: &str = "ether saddr != { 02:99:00:00:00:01-02:99:00:00:00:03 }";
