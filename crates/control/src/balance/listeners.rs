//! Services of this host that a balancer takes over: a mistyped address or port is that of a daemon
//! here, such as sshd, which gets no packets any more.

use std::net::{IpAddr, SocketAddr};

use functions::balancer::{Config, Ports, Protocol, Service};
use packet::IpProtocol;
use sys::net::{InetSocket, Netlink, inet_sockets};

use crate::Control;
use crate::error::Result;
use crate::notice::Notice;

/// Reports the first listening TCP socket of this host that each service has the packets of. What
/// cannot be listed is not reported.
///
/// # Errors
/// The addresses cannot be read.
pub fn report(control: &Control, config: &Config) -> Result<()> {
    let services = config.services.iter().filter(|one| one.protocol == Protocol::Tcp);
    if services.clone().next().is_none() {
        return Ok(());
    }
    let own: Vec<_> = Netlink::open()?.addresses()?.iter().map(|one| one.ip).collect();
    let sockets = inet_sockets().unwrap_or_default();
    for service in services {
        if let Some(socket) = taken(service, &own, &sockets) {
            control.notify(&Notice::TakenOver { service: service.name.clone(), socket });
        }
    }
    Ok(())
}

/// An own address and port that the service has, where a socket listens.
fn taken(service: &Service, own: &[IpAddr], sockets: &[InetSocket]) -> Option<SocketAddr> {
    let is_listening =
        |one: &&InetSocket| one.protocol == IpProtocol::TCP.0 && one.state == LISTENING;
    let mut ports = sockets.iter().filter(is_listening).filter(|one| match service.port {
        Ports::Any => true,
        Ports::Range(first, last) => (first..=last).contains(&one.local.port()),
    });
    let own: Vec<_> = own.iter().filter(|one| service.address.0.contains(**one)).collect();
    ports.find_map(|socket| {
        let local = socket.local.ip();
        let is_met = |address: &&&IpAddr| match local.is_unspecified() {
            true => address.is_ipv6() == local.is_ipv6() || !socket.ipv6_only && local.is_ipv6(),
            false => local.to_canonical() == ***address,
        };
        own.iter().find(is_met).map(|address| SocketAddr::new(**address, socket.local.port()))
    })
}

/// `TCP_LISTEN`.
const LISTENING: u8 = 10;

#[cfg(test)]
mod tests {
    use sys::net::Ifindex;

    use super::*;

    fn socket(local: &str, ipv6_only: bool) -> InetSocket {
        let local: SocketAddr = local.parse().unwrap();
        InetSocket {
            protocol: IpProtocol::TCP.0,
            state: LISTENING,
            local,
            remote: local,
            ifindex: Ifindex(0),
            mark: 0,
            ipv6_only,
        }
    }

    #[test]
    fn a_socket_is_met_by_address_and_port() {
        let service = |address: &str, port: &str| -> Service {
            let text =
                format!("name = 'x'\naddress = '{address}'\nprotocol = 'tcp'\nport = '{port}'");
            toml::from_str(&text).unwrap()
        };
        let own = ["10.0.0.1", "fd00::1"].map(|one| one.parse().unwrap());
        let found = |to: &Service, socket: InetSocket| {
            taken(to, &own, &[socket]).map(|one| one.to_string())
        };
        let ssh = service("10.0.0.1", "any");
        for local in ["0.0.0.0:22", "10.0.0.1:22", "[::]:22", "[::ffff:10.0.0.1]:22"] {
            assert_eq!(
                found(&ssh, socket(local, false)).as_deref(),
                Some("10.0.0.1:22"),
                "{local}"
            );
        }
        assert_eq!(found(&ssh, socket("[::]:22", true)), None);
        assert_eq!(found(&ssh, socket("127.0.0.1:22", false)), None);
        assert_eq!(found(&service("10.0.0.1", "80-90"), socket("0.0.0.0:22", false)), None);
        assert_eq!(found(&service("192.0.2.1", "22"), socket("0.0.0.0:22", false)), None);
        let closed = InetSocket { state: 7, ..socket("0.0.0.0:22", false) };
        assert_eq!(found(&ssh, closed), None);
        let network = service("10.0.0.0/24", "20-30");
        assert_eq!(found(&network, socket("0.0.0.0:22", false)).as_deref(), Some("10.0.0.1:22"));
    }
}
