//! Netfilter's translation, by a rule of nftables, and the kernel's router.

use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use lab::Host;

use super::forwarding::Forwarding;
use super::{Journey, Path, Set};
use crate::field::{Line, PORT};

pub const DNAT: Path = Path {
    name: "nft-dnat",
    about: "netfilter translates by an nftables rule and connection tracking, Linux routes",
    journey: Journey::Translated,
    set: |line| Ok(Box::new(Table::build(line)?)),
};

/// Removed when dropped.
struct Table {
    host: Host,
    _forwarding: Forwarding,
}

impl Table {
    fn build(line: &Line) -> Result<Self> {
        let host = line.forwarder.clone();
        let (from, to) = (line.near.ipv4()?, line.sink.ipv4()?);
        let rules = format!(
            "add table ip {NAME}\n\
             add chain ip {NAME} in {{ type nat hook prerouting priority dstnat; }}\n\
             add rule ip {NAME} in ip daddr {from} udp dport {PORT} dnat to {to}\n"
        );
        nft(&host, &rules)?;
        let forwarding = Forwarding::allow(line);
        Ok(Self { host, _forwarding: forwarding? })
    }
}

/// Gives the rules to nft(8) in the host, all or none.
fn nft(host: &Host, rules: &str) -> Result<()> {
    let mut command = host.command("nft")?;
    command.args(["-f", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().context("nft does not start: install nftables")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(rules.as_bytes()).context("nft does not read its rules")?;
    }
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "nft: {}", said.lines().next().unwrap_or("it failed"));
    Ok(())
}

impl Drop for Table {
    fn drop(&mut self) {
        // The namespace ends with the run, whatever is in it.
        let _ = nft(&self.host, &format!("delete table ip {NAME}"));
    }
}

impl Set for Table {}

const NAME: &str = "xway_bench";
