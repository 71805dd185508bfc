//! Settings of this network namespace that a SYN proxy's answers must agree with.

use filter::Listeners;
use sys::net::Netlink;
use sys::netns::NetNs;

use crate::error::{Error, Result};
use crate::target::Target;

/// Reads the settings that apply behind an interface.
pub fn here(target: &Target) -> Result<Listeners> {
    let netns = NetNs::current()?;
    let last = |path: &str| -> Result<u64> {
        let text = netns.sysctl(path)?;
        let word = text.split_whitespace().next_back().unwrap_or_default();
        let malformed = || format!("/proc/sys/net/{path} has no number at its end");
        word.parse().map_err(|_| Error::Malformed(malformed()))
    };
    let small = |path: &str| -> Result<u8> {
        let value = last(path)?;
        u8::try_from(value)
            .map_err(|_| Error::Malformed(format!("/proc/sys/net/{path} is {value}, over 255")))
    };
    let receive_most = last("ipv4/tcp_rmem")?;
    Ok(Listeners {
        syncookies: small("ipv4/tcp_syncookies")?,
        timestamps: small("ipv4/tcp_timestamps")?,
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
