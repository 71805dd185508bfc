//! `SilentPort`: a local port whose packets the kernel drops without an answer.
//!
//! A process that speaks TCP or UDP through a packet socket needs one: for a port without a socket
//! the kernel answers with a reset or an ICMP error. The socket of this port has a filter that
//! drops everything, and is in the list of listening sockets (`ss -l`).

use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use packet::IpProtocol;

use super::cooked::attach_filter;
use crate::error::{Error, Result};

/// The port is this value's while it exists.
#[derive(Debug)]
pub struct SilentPort {
    _socket: OwnedFd,
}

impl SilentPort {
    /// Takes a port of TCP or UDP at an address of this host; `None` if another socket has it.
    pub fn take(protocol: IpProtocol, address: IpAddr, port: u16) -> Result<Option<Self>> {
        let is_tcp = protocol == IpProtocol::TCP;
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let kind = if is_tcp { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(Error::last("socket(AF_INET)", ""));
        }
        // SAFETY: `fd` was just returned by `socket` and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        // `ret 0`: nothing passes.
        attach_filter(socket.as_fd(), &[(6, 0, 0, 0)])?;
        let object = SocketAddr::new(address, port);
        match bind(&socket, object) {
            Err(error) if error.is(libc::EADDRINUSE) => return Ok(None),
            other => other?,
        }
        // SAFETY: no pointers are passed.
        if is_tcp && unsafe { libc::listen(socket.as_raw_fd(), 1) } < 0 {
            let error = Error::last("listen", object.to_string());
            return if error.is(libc::EADDRINUSE) { Ok(None) } else { Err(error) };
        }
        Ok(Some(Self { _socket: socket }))
    }
}

fn bind(socket: &OwnedFd, to: SocketAddr) -> Result<()> {
    let fd = socket.as_raw_fd();
    let status = match to.ip() {
        IpAddr::V4(ip) => {
            let address = libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: to.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) },
                sin_zero: [0; 8],
            };
            let length = mem::size_of_val(&address) as libc::socklen_t;
            // SAFETY: `address` is a whole `sockaddr_in` of `length` bytes.
            unsafe { libc::bind(fd, (&raw const address).cast(), length) }
        }
        IpAddr::V6(ip) => {
            let address = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as u16,
                sin6_port: to.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: ip.octets() },
                sin6_scope_id: 0,
            };
            let length = mem::size_of_val(&address) as libc::socklen_t;
            // SAFETY: `address` is a whole `sockaddr_in6` of `length` bytes.
            unsafe { libc::bind(fd, (&raw const address).cast(), length) }
        }
    };
    if status < 0 { Err(Error::last("bind", to.to_string())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpStream, UdpSocket};
    use std::time::Duration;

    use super::*;

    /// A port of this host that no socket has.
    fn free_port(protocol: IpProtocol) -> (u16, SilentPort) {
        let local = IpAddr::from([127, 0, 0, 1]);
        let take = |port| SilentPort::take(protocol, local, port).unwrap().map(|one| (port, one));
        (61_000..65_000).find_map(take).unwrap()
    }

    #[test]
    fn a_port_has_one_owner() {
        for protocol in [IpProtocol::TCP, IpProtocol::UDP] {
            let (port, held) = free_port(protocol);
            let local = IpAddr::from([127, 0, 0, 1]);
            assert!(SilentPort::take(protocol, local, port).unwrap().is_none(), "{protocol}");
            drop(held);
            assert!(SilentPort::take(protocol, local, port).unwrap().is_some(), "{protocol}");
        }
    }

    #[test]
    fn it_answers_nothing() {
        let short = Duration::from_millis(50);
        let (port, _held) = free_port(IpProtocol::TCP);
        let error = TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), short).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        let (port, _held) = free_port(IpProtocol::UDP);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(short)).unwrap();
        socket.send(b"x").unwrap();
        let error = socket.recv(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "no ICMP error");
    }
}
