//! What no defence ends: frames go up the stack to a port where nobody listens.

use std::fs;

use anyhow::{Context, Result};

use crate::field::Place;

/// Frames that ended there, from now on.
pub struct Closed {
    server: Place,
    before: u64,
}

impl Closed {
    pub fn new(server: &Place) -> Result<Self> {
        Ok(Self { server: server.clone(), before: refused(server)? })
    }

    pub fn ended(&self) -> Result<u64> {
        Ok(refused(&self.server)?.saturating_sub(self.before))
    }
}

/// Datagrams that came to a port without a socket, since the namespace is there.
fn refused(server: &Place) -> Result<u64> {
    let text = server.run(|| fs::read_to_string(SNMP))?.with_context(|| format!("read {SNMP}"))?;
    count(&text).with_context(|| format!("{SNMP} has no {COUNTER}"))
}

/// The file has a line of names and then one of values for each protocol.
fn count(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(PROTOCOL));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|name| name == COUNTER)?;
    values.split(' ').nth(at)?.parse().ok()
}

pub const ABOUT: &str = "frames go up the stack to a UDP port where nothing listens";
/// Of the calling thread's namespace: `/proc/net` is that of the process's first thread.
const SNMP: &str = "/proc/thread-self/net/snmp";
const PROTOCOL: &str = "Udp:";
const COUNTER: &str = "NoPorts";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_by_its_name() {
        let text = "Ip: Forwarding NoPorts\nIp: 1 2\nUdp: InDatagrams NoPorts InErrors\n\
                    Udp: 5 17 0\nUdpLite: InDatagrams NoPorts\nUdpLite: 1 3\n";
        assert_eq!(count(text), Some(17));
        for odd in ["", "Udp: InDatagrams NoPorts\n", "Udp: A\nUdp: 1\n", "Udp: NoPorts\nUdp: x\n"]
        {
            assert_eq!(count(odd), None, "{odd:?}");
        }
    }
}
