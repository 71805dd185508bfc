//! Netfilter's translation, by a rule of nftables, and the kernel's router.

use anyhow::Result;

use super::forwarding::Forwarding;
use super::{ActivePath, Journey, Path};
use crate::field::{Line, PORT};
use crate::hook::tool::Tool;

/// Destination NAT by nft.
pub const DNAT: Path = Path {
    name: "nft-dnat",
    about: "netfilter translates by an nftables rule and connection tracking, Linux routes",
    journey: Journey::Translated,
    set: |line| Ok(Box::new(Table::build(line)?)),
};

/// Removed when dropped.
struct Table {
    tool: Tool,
    _forwarding: Forwarding,
}

impl Table {
    fn build(line: &Line) -> Result<Self> {
        let tool = Tool::at(line.near.clone(), line.cpus.process, "nft");
        let (from, to) = (line.near.ipv4()?, line.sink.ipv4()?);
        let rules = format!(
            "add table ip {NAME}\n\
             add chain ip {NAME} in {{ type nat hook prerouting priority dstnat; }}\n\
             add rule ip {NAME} in ip daddr {from} udp dport {PORT} dnat to {to}\n"
        );
        let forwarding = Forwarding::allow(line)?;
        tool.run(["-f", "-"], &rules)?;
        Ok(Self { tool, _forwarding: forwarding })
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // The namespace ends with the run, whatever is in it.
        let _ = self.tool.run(["delete", "table", "ip", NAME], "");
    }
}

impl ActivePath for Table {}

const NAME: &str = "xway_bench";
