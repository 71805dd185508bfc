//! What of this host gets in the way of translation: sockets that use an address of `source`, and
//! settings by which the stack drops the answers that it is to send, because the next hop to their
//! client is not known.

use std::net::SocketAddr;

use functions::balancer::{Config, Delivery, Nat};
use packet::IpProtocol;
use sys::net::{Netlink, inet_sockets};
use sys::netns::NetNs;

use crate::Control;
use crate::error::Result;
use crate::notice::Notice;
use crate::target::Target;

/// Reports what it finds as notices.
///
/// # Errors
/// Sockets or addresses cannot be read.
pub fn check(control: &Control, targets: &[&Target], config: &Config) -> Result<()> {
    let Some(nat) = config.nat.as_ref().filter(|_| config.translates()) else { return Ok(()) };
    sockets(control, nat)?;
    if nat.addresses().any(|one| one.is_ipv4()) {
        return settings(control, targets, config);
    }
    Ok(())
}

/// Answers of a backend that such a socket talks to would be taken for those of a flow that has its
/// port.
fn sockets(control: &Control, nat: &Nat) -> Result<()> {
    let all = inet_sockets()?;
    for address in nat.addresses() {
        let uses =
            |local: SocketAddr| local.ip().to_canonical() == address && local.port() >= FIRST_PORT;
        let Some(socket) = all.iter().find(|one| uses(one.local)) else { continue };
        let is_tcp = socket.protocol == IpProtocol::TCP.0;
        let (protocol, port) = (if is_tcp { "TCP" } else { "UDP" }, socket.local.port());
        control.notify(&Notice::SourceInUse { address, protocol, port });
    }
    Ok(())
}

/// The stack validates the source of IPv4 packets that it forwards: here the address of a service.
fn settings(control: &Control, targets: &[&Target], config: &Config) -> Result<()> {
    let netns = NetNs::current()?;
    let most = |interface: &str, name: &str| {
        let values = ["all", interface].map(|one| {
            let value = netns.sysctl(&format!("ipv4/conf/{one}/{name}"));
            value.ok().and_then(|value| value.trim().parse::<u8>().ok()).unwrap_or_default()
        });
        values[0].max(values[1])
    };
    let own: Vec<_> = Netlink::open()?.addresses()?.iter().map(|one| one.ip).collect();
    let translated = config.services.iter().filter(|one| one.delivery == Delivery::Nat);
    let mut services = translated.map(|one| one.address.0);
    let is_own = services.any(|one| own.iter().any(|own| own.is_ipv4() && one.contains(*own)));
    for target in targets {
        let interface = &target.interface;
        let report = |setting: &str, value: u8| {
            let sysctl = format!("net.ipv4.conf.{interface}.{setting}={value}");
            control.notify(&Notice::NotForwarded { interface: interface.clone(), sysctl });
        };
        if most(interface, "rp_filter") == STRICT {
            report("rp_filter", 2);
        }
        if is_own && most(interface, "accept_local") == 0 {
            report("accept_local", 1);
        }
    }
    Ok(())
}

/// `NAT_FIRST_PORT`: no flow has a port below.
const FIRST_PORT: u16 = 1024;
/// Value of `rp_filter` at which packets are dropped that come in by another interface than their
/// source is reached by.
const STRICT: u8 = 1;
