//! Waiting for declared interfaces, for a machine that boots.
//!
//! Rule: an interface is there when the device manager has given it its final name. Where there is
//! no device manager, such as in a container or in another network namespace than that of the first
//! process, it is there when the kernel lists it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use sys::net::{Link, LinkEvents, Netlink};
use sys::netns::NetNs;
use sys::poll;

use crate::declaration::{Declaration, Declarations};
use crate::error::Result;

/// Waits until all declared interfaces are there, or the time is over. With `only`, declarations of
/// other interfaces by name are not waited for.
///
/// # Errors
/// Interfaces cannot be listed.
pub fn wait(declarations: &Declarations, only: &[String], time: Duration) -> Result<()> {
    let (events, is_managed) = (LinkEvents::open()?, is_managed());
    let end = Instant::now() + time;
    let wanted: Vec<_> =
        declarations.files.iter().flatten().filter(|one| is_wanted(one, only)).collect();
    loop {
        let links = Netlink::open()?.links()?;
        let is_there = |one: &&Declaration| {
            links.iter().any(|link| one.interface.matches(link) && (!is_managed || is_named(link)))
        };
        let left = end.saturating_duration_since(Instant::now());
        if wanted.iter().all(is_there) || left.is_zero() {
            return Ok(());
        }
        // The device manager sends no event to this socket.
        poll::readable(events.fd(), left.min(POLL_INTERVAL))?;
        events.take()?;
    }
}

fn is_wanted(declaration: &Declaration, only: &[String]) -> bool {
    only.is_empty() || only.contains(&declaration.interface.to_string())
}

/// Whether udev manages the interfaces of this namespace.
fn is_managed() -> bool {
    let own = NetNs::current().and_then(|netns| netns.id());
    let first = fs::metadata("/proc/1/ns/net");
    let is_first = own.is_ok_and(|own| first.is_ok_and(|first| first.ino() == own.inode));
    is_first && Path::new(UDEV).exists()
}

/// Whether udev has processed the interface.
fn is_named(link: &Link) -> bool {
    Path::new(&format!("{UDEV}/data/n{}", link.ifindex.0)).exists()
}

/// Where udev keeps its data.
const UDEV: &str = "/run/udev";
/// Longest time until the end of processing by udev is seen.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
