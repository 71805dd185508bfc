//! Sockets as programs read them: `struct bpf_sock`, and the start of the kernel's structure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::world::{Protocol, Socket};

/// `struct bpf_sock`.
pub(crate) type Image = [u8; 80];

/// The start of `struct sock` on x86-64 (`struct sock_common`, Linux 6.18): addresses, ports,
/// family, state, interface. The rest is zero.
pub(crate) type KernelImage = [u8; 512];

/// Offset in [`KernelImage`] of a pointer that programs cannot follow (`skc_net`): it holds the
/// address of the original socket.
pub(crate) const ORIGIN: usize = 48;

/// `struct bpf_sock` of a socket that is bound to an interface, by number.
pub(crate) fn of(socket: &Socket, device: u32) -> Image {
    let mut image = [0; 80];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    let unset = SocketAddr::new(socket.local.ip(), 0);
    let remote = socket.remote.unwrap_or(unset);
    let kind: u32 = match socket.protocol {
        Protocol::Tcp => SOCK_STREAM,
        Protocol::Udp => SOCK_DGRAM,
    };
    put(0, &device.to_ne_bytes());
    put(4, &family(socket.local).to_ne_bytes());
    put(8, &kind.to_ne_bytes());
    put(12, &u32::from(socket.protocol.number()).to_ne_bytes());
    put(16, &socket.mark.to_ne_bytes());
    put(20, &socket.priority.to_ne_bytes());
    put(24, &ipv4(socket.local.ip()).octets());
    put(28, &ipv6(socket, socket.local.ip()).octets());
    put(44, &u32::from(socket.local.port()).to_ne_bytes());
    put(48, &remote.port().to_be_bytes());
    if socket.remote.is_some() {
        put(52, &ipv4(remote.ip()).octets());
        put(56, &ipv6(socket, remote.ip()).octets());
    }
    put(72, &(socket.state() as u32).to_ne_bytes());
    put(76, &socket.rx_queue.map_or(-1, i32::from).to_ne_bytes());
    image
}

/// The kernel's structure, from the image and the address of the original socket.
pub(crate) fn kernel(image: &Image, origin: u64) -> KernelImage {
    let mut kernel = [0; 512];
    let mut put = |at: usize, bytes: &[u8]| kernel[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &image[52..56]);
    put(4, &image[24..28]);
    put(12, &image[48..50]);
    // Ports and families have four bytes there and two here.
    put(14, &image[44..46]);
    put(16, &image[4..6]);
    put(18, &image[72..73]);
    put(20, &image[0..4]);
    put(ORIGIN, &origin.to_ne_bytes());
    put(56, &image[56..72]);
    put(72, &image[28..44]);
    kernel
}

fn family(address: SocketAddr) -> u32 {
    if address.is_ipv4() { AF_INET } else { AF_INET6 }
}

/// IPv4 address of an IPv6 socket: that of a mapped address, none for any, else an address that no
/// host has.
fn ipv4(ip: IpAddr) -> Ipv4Addr {
    match ip {
        IpAddr::V4(v4) => v4,
        IpAddr::V6(v6) if v6.is_unspecified() => Ipv4Addr::UNSPECIFIED,
        IpAddr::V6(v6) => v6.to_ipv4_mapped().unwrap_or(LOOPBACK4_IPV6),
    }
}

/// IPv6 address of an IPv4 socket: the mapped address for an accepted connection, otherwise none.
fn ipv6(socket: &Socket, ip: IpAddr) -> Ipv6Addr {
    let accepted = socket.protocol == Protocol::Tcp && socket.remote.is_some();
    match ip {
        IpAddr::V4(v4) if accepted => v4.to_ipv6_mapped(),
        IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
        IpAddr::V6(v6) => v6,
    }
}

const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const SOCK_STREAM: u32 = 1;
const SOCK_DGRAM: u32 = 2;
/// `LOOPBACK4_IPV6` of `net/ipv6.h`.
const LOOPBACK4_IPV6: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 6);
