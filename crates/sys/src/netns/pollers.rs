//! The kernel threads that poll a device whose NAPI is threaded.
//!
//! They are called `napi/DEVICE-ID`, and device names repeat across namespaces. Linux 6.8 reports
//! their process ids; before, only names are to be seen, and the caller must find out whose
//! threads they are: those that came when it asked for them.

use std::fs;

use super::NetNs;
use crate::error::{Error, Result};
use crate::net::{NetdevFamily, Netlink};

/// Process ids of an interface's pollers; empty unless it is up and polls in threads.
/// `None` if this kernel does not report them.
pub fn poller_pids(netns: &NetNs, interface: &str) -> Result<Option<Vec<u32>>> {
    let ifindex = netns.enter(|| Netlink::open()?.link(interface))??.ifindex;
    match netns.enter(|| NetdevFamily::open()?.napis(ifindex))? {
        Ok(napis) => Ok(Some(napis.iter().filter_map(|napi| napi.pid).collect())),
        Err(error) if error.is(libc::ENOENT) || error.is(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// All pollers of devices with this name, in any namespace.
pub fn pollers_named(interface: &str) -> Result<Vec<u32>> {
    let prefix = format!("napi/{interface}-");
    let entries =
        fs::read_dir("/proc").map_err(|error| Error::from_io("readdir", "/proc", &error))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.starts_with(&prefix)
        })
        .collect())
}
