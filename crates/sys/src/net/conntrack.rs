//! Tracked connections of a namespace, from `/proc/net/nf_conntrack`.
//!
//! Not here: ctnetlink, which not every kernel has; the file contains everything but the
//! requested translations.

use std::fs;
use std::net::{IpAddr, SocketAddr};

use crate::error::{Error, Result};

/// A tracked connection of a protocol with ports, outside of all zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackedConnection {
    /// `IPPROTO_*`.
    pub protocol: u8,
    /// Seconds until the entry expires.
    pub timeout_s: u32,
    /// Source and destination of packets as the first had them, and of packets the other way.
    pub tuples: [(SocketAddr, SocketAddr); 2],
    /// Whether packets were seen in both directions.
    pub replied: bool,
    /// Whether the entry survives when the table is full.
    pub assured: bool,
    /// Mark of the connection.
    pub mark: u32,
}

/// Connections with ports and without zone of the calling thread's namespace. Needs root;
/// `ENOENT` where the kernel does not track or does not list.
pub fn tracked_connections() -> Result<Vec<TrackedConnection>> {
    let text = fs::read_to_string(FILE).map_err(|error| Error::from_io("read", FILE, &error))?;
    Ok(text.lines().filter_map(TrackedConnection::from_line).collect())
}

impl TrackedConnection {
    /// Such as `ipv4 2 tcp 6 117 SYN_SENT src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 [UNREPLIED]
    /// src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1 mark=0 use=1`.
    fn from_line(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let protocol = words.nth(3)?.parse().ok()?;
        let timeout_s = words.next()?.parse().ok()?;
        let rest: Vec<&str> = words.collect();
        let all = |key: &'static str| rest.iter().filter_map(move |word| word.strip_prefix(key));
        // Entries of a zone are separate from all others, and the file does not identify them.
        if rest.iter().any(|word| word.starts_with("zone") && !word.ends_with("=0")) {
            return None;
        }
        let tuple = |number: usize| {
            let ip = |key| all(key).nth(number)?.parse::<IpAddr>().ok();
            let port = |key| all(key).nth(number)?.parse::<u16>().ok();
            let from = SocketAddr::new(ip("src=")?, port("sport=")?);
            Some((from, SocketAddr::new(ip("dst=")?, port("dport=")?)))
        };
        Some(Self {
            protocol,
            timeout_s,
            tuples: [tuple(0)?, tuple(1)?],
            replied: !rest.contains(&"[UNREPLIED]"),
            assured: rest.contains(&"[ASSURED]"),
            mark: all("mark=").next().and_then(|mark| mark.parse().ok()).unwrap_or(0),
        })
    }
}

/// The file of the thread's namespace: `/proc/net` would be that of the process.
const FILE: &str = "/proc/thread-self/net/nf_conntrack";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_list() {
        let line = "ipv4     2 tcp      6 431999 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=1 \
                    dport=2 src=10.0.0.9 dst=10.0.0.1 sport=80 dport=1 [ASSURED] mark=7 use=2";
        let connection = TrackedConnection::from_line(line).unwrap();
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let expected = TrackedConnection {
            protocol: 6,
            timeout_s: 431_999,
            tuples: [(at("10.0.0.1:1"), at("10.0.0.2:2")), (at("10.0.0.9:80"), at("10.0.0.1:1"))],
            replied: true,
            assured: true,
            mark: 7,
        };
        assert_eq!(connection, expected);
        let line = "ipv6     10 udp      17 29 src=fd00::1 dst=fd00::2 sport=5 dport=6 \
                    [UNREPLIED] src=fd00::2 dst=fd00::1 sport=6 dport=5 mark=0 use=2";
        let connection = TrackedConnection::from_line(line).unwrap();
        assert!(!connection.replied && !connection.assured);
        assert_eq!(connection.tuples[1].0, at("[fd00::2]:6"));
        for line in ["", "ipv4 2 icmp 1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1", "x"] {
            assert_eq!(TrackedConnection::from_line(line), None, "{line}");
        }
    }
}
