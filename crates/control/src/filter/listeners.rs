//! Settings of this network namespace that a SYN proxy's answers must agree with.

use filter::Listeners;
use sys::net::Netlink;
use sys::netns::NetNs;

use crate::error::{Error, Malformed, Result};
use crate::target::Target;

/// Reads the settings that apply to servers reached through an interface.
pub fn read(target: &Target) -> Result<Listeners> {
    let netns = NetNs::current()?;
    let last = |path: &str, max: u64| -> Result<u64> {
        let text = netns.sysctl(path)?;
        let word = text.split_whitespace().next_back().unwrap_or_default();
        let value = word.parse().ok().filter(|value| *value <= max);
        let malformed = || Malformed::Setting { path: path.to_owned(), value: text.clone(), max };
        Ok(value.ok_or_else(malformed)?)
    };
    let small = |path: &str| Ok::<_, Error>(last(path, u8::MAX.into())? as u8);
    let receive_most = last("ipv4/tcp_rmem", u64::MAX)?;
    Ok(Listeners {
        syncookies: small("ipv4/tcp_syncookies")?,
        timestamps: small("ipv4/tcp_timestamps")?,
        receive_most,
        // Not every namespace shows this setting; 0 means unlimited.
        buffer_most: last("core/rmem_max", u64::MAX).unwrap_or(0),
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
