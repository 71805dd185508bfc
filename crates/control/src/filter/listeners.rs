//! Settings of this network namespace that a SYN proxy's answers must agree with.

use anyhow::{Context as _, Result};
use filter::Listeners;
use sys::net::Netlink;
use sys::netns::NetNs;

use crate::target::Target;

/// Reads the settings that apply behind an interface.
pub fn here(target: &Target) -> Result<Listeners> {
    let netns = NetNs::current()?;
    let last = |path: &str| -> Result<u64> {
        let text = netns.sysctl(path)?;
        let word = text.split_whitespace().next_back().unwrap_or_default();
        word.parse().with_context(|| format!("/proc/sys/net/{path} has no number at its end"))
    };
    let receive_most = last("ipv4/tcp_rmem")?;
    Ok(Listeners {
        syncookies: u8::try_from(last("ipv4/tcp_syncookies")?)?,
        timestamps: u8::try_from(last("ipv4/tcp_timestamps")?)?,
        receive_most,
        // Not every namespace shows it: then it has no say.
        buffer_most: last("core/rmem_max").unwrap_or(0),
        mtu: target.mtu,
        macs: macs(target)?,
    })
}

/// The MAC addresses of the interface and of the bridge or bond that holds it.
fn macs(target: &Target) -> Result<[Option<[u8; 6]>; 2]> {
    let mut netlink = Netlink::open()?;
    let link = netlink.link_by_index(target.ifindex)?;
    let master = link.master.map(|master| netlink.link_by_index(master)).transpose()?;
    Ok([link.mac, master.and_then(|master| master.mac)].map(|mac| mac.map(|mac| mac.0)))
}
