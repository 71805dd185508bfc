//! Frames that no defense ends: they go up the stack, to a port without a listener or to a
//! listener.

use std::fs;

use anyhow::{Context, Result};

use crate::field::{Attack, Place};

/// Counts frames that ended in the stack.
pub struct Stack {
    server: Place,
    books: &'static FrameCounters,
    before: u64,
}

/// Counters of a namespace that together have each frame once.
struct FrameCounters {
    /// A file of the calling thread's namespace: `/proc/net` is that of the process's first thread.
    file: &'static str,
    protocol: &'static str,
    counters: &'static [&'static str],
}

impl Stack {
    /// Starts to count in the server's namespace.
    pub fn new(server: &Place, attack: Attack) -> Result<Self> {
        let books = if attack == Attack::Syn { &REQUESTS } else { &DATAGRAMS };
        Ok(Self { server: server.clone(), books, before: books.read(server)? })
    }

    /// Frames that ended in the stack since the start.
    pub fn ended(&self) -> Result<u64> {
        Ok(self.books.read(&self.server)?.saturating_sub(self.before))
    }
}

impl FrameCounters {
    /// The counts since the namespace exists.
    fn read(&self, server: &Place) -> Result<u64> {
        let file = self.file;
        let text =
            server.run(|| fs::read_to_string(file))?.with_context(|| format!("read {file}"))?;
        let counts = self.counters.iter().map(|counter| {
            count(&text, self.protocol, counter).with_context(|| format!("{file} has no {counter}"))
        });
        counts.sum()
    }
}

/// The file has a line of names and then one of values for each protocol.
fn count(text: &str, protocol: &str, counter: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(protocol));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|name| name == counter)?;
    values.split(' ').nth(at)?.parse().ok()
}

/// What happens to a flood of an attack.
pub fn about(attack: Attack) -> &'static str {
    match attack {
        Attack::Syn => {
            "frames go up the stack to a listener, which answers with cookies once its queue is \
             full: net.ipv4.tcp_syncookies is 1, the default"
        }
        Attack::Constant | Attack::Udp => {
            "frames go up the stack to a UDP port where nothing listens"
        }
    }
}

/// Datagrams to a port without a socket.
const DATAGRAMS: FrameCounters =
    FrameCounters { file: "/proc/thread-self/net/snmp", protocol: "Udp:", counters: &["NoPorts"] };
/// Requests that were answered with a cookie or dropped. Not those that wait in the listener's
/// queue, of which there are never more than a hundred or two. Clients' requests are among them.
const REQUESTS: FrameCounters = FrameCounters {
    file: "/proc/thread-self/net/netstat",
    protocol: "TcpExt:",
    counters: &["SyncookiesSent", "ListenDrops"],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let text = "Ip: Forwarding NoPorts\nIp: 1 2\nUdp: InDatagrams NoPorts InErrors\n\
                    Udp: 5 17 0\nUdpLite: InDatagrams NoPorts\nUdpLite: 1 3\n";
        assert_eq!(count(text, "Udp:", "NoPorts"), Some(17));
        for odd in ["", "Udp: InDatagrams NoPorts\n", "Udp: A\nUdp: 1\n", "Udp: NoPorts\nUdp: x\n"]
        {
            assert_eq!(count(odd, "Udp:", "NoPorts"), None, "{odd:?}");
        }
    }

    #[test]
    fn every_counter_is_there() {
        for FrameCounters { file, protocol, counters } in [DATAGRAMS, REQUESTS] {
            let text = fs::read_to_string(file).unwrap();
            let missing = |name: &&&str| count(&text, protocol, name).is_none();
            assert_eq!(counters.iter().find(missing), None, "{file}");
        }
    }
}
