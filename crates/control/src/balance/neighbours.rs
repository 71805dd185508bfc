//! Neighbours of backends: the program drops packets for a backend whose MAC address is unknown,
//! and only user space can have the kernel resolve it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::thread::sleep;
use std::time::Duration;

use functions::balancer::{Config, State};
use sys::net::{Ifindex, Netlink};
use sys::netns::NetNs;

use crate::Control;
use crate::error::{FunctionError, Result};
use crate::notice::Notice;

/// # Errors
/// `bpf_fib_lookup()` would not find routes, because the interface does not forward.
pub fn check_forwarding(interface: &str, config: &Config) -> Result<()> {
    let netns = NetNs::current()?;
    for (is_ipv4, family, name) in [(true, "ipv4", "IPv4"), (false, "ipv6", "IPv6")] {
        let mut backends = config.services.iter().flat_map(|one| &one.backends);
        if !backends.any(|one| one.address.is_ipv4() == is_ipv4) {
            continue;
        }
        let path = format!("{family}/conf/{interface}/forwarding");
        if netns.sysctl(&path).is_ok_and(|value| value.trim() == "0") {
            let sysctl = path.replace('/', ".");
            let (interface, family) = (interface.to_owned(), name);
            return Err(FunctionError::NoForwarding { interface, family, sysctl }.into());
        }
    }
    Ok(())
}

/// Has the kernel resolve the next hops of all backends, and waits up to 200 ms for the answers, so
/// that the first packets are not lost. Those that do not answer are named in a notice.
///
/// # Errors
/// Routes or neighbours cannot be read.
pub fn resolve(control: &Control, config: &Config) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let mut unknown = Vec::new();
    for _ in 0..ATTEMPTS {
        unknown = ask(&mut netlink, config)?;
        if unknown.is_empty() {
            return Ok(());
        }
        sleep(PAUSE);
    }
    unknown.iter().for_each(|backend| control.notify(&Notice::Unresolved(*backend)));
    Ok(())
}

/// Has the kernel resolve or confirm what is unknown or stale. Returns the backends whose next hop
/// is unknown; those without a route have none.
///
/// # Errors
/// Routes or neighbours cannot be read.
pub fn ask(netlink: &mut Netlink, config: &Config) -> Result<Vec<IpAddr>> {
    let known = netlink.neighbours()?;
    let find = |ifindex, ip| known.iter().find(|one| (one.ifindex, one.ip) == (ifindex, ip));
    let mut asked: BTreeSet<(Ifindex, IpAddr)> = BTreeSet::new();
    let mut unknown = Vec::new();
    for backend in addresses(config) {
        let Some(hop) = netlink.way_to(backend)? else { continue };
        let to = hop.via.unwrap_or(backend);
        let entry = find(hop.ifindex, to);
        if entry.is_none_or(|one| one.mac.is_none() || one.is_stale())
            && asked.insert((hop.ifindex, to))
        {
            // An interface without neighbours refuses, such as a tunnel.
            let _ = netlink.ask_neighbour(hop.ifindex, to);
        }
        if entry.is_none_or(|one| one.mac.is_none()) {
            unknown.push(backend);
        }
    }
    Ok(unknown)
}

/// Backends that packets may be sent to.
fn addresses(config: &Config) -> BTreeSet<IpAddr> {
    let backends = config.services.iter().flat_map(|one| &one.backends);
    backends.filter(|one| one.state != State::Down).map(|one| one.address).collect()
}

/// Attempts to see an answer, and the pause between two.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);
