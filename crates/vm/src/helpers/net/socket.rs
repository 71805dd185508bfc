//! Lookup, release and casts of sockets.

use std::net::SocketAddr;

use super::{context, read};
use crate::fault::Fault;
use crate::helpers::bad_argument;
use crate::memory::RegionId;
use crate::objects::Kind;
use crate::processor::Processor;
use crate::world::net::{Ends, Place, SOCKET_ORIGIN, SocketEntry, SocketImage, kernel_socket};
use crate::world::{Protocol, SocketState};

type Answer = Result<u64, Box<Fault>>;

/// `bpf_skc_lookup_tcp`: any socket, including requests and those in time-wait.
pub(super) fn skc_lookup_tcp(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let found = find(processor, "bpf_skc_lookup_tcp", args, Protocol::Tcp)?;
    Ok(found.map_or(0, |number| lend(processor, number)))
}

pub(super) fn sk_lookup_tcp(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let found = find(processor, "bpf_sk_lookup_tcp", args, Protocol::Tcp)?;
    Ok(found.and_then(|number| full(processor, number)).map_or(0, |number| lend(processor, number)))
}

pub(super) fn sk_lookup_udp(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let found = find(processor, "bpf_sk_lookup_udp", args, Protocol::Udp)?;
    Ok(found.map_or(0, |number| lend(processor, number)))
}

pub(super) fn release(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    const NAME: &str = "bpf_sk_release";
    let origin = origin(processor, args[0]).filter(|origin| processor.objects.release(*origin));
    origin.map(|_| 0).ok_or_else(|| bad_argument(NAME, 1, "not a socket that the program owns"))
}

pub(super) fn to_tcp6(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    cast(processor, "bpf_skc_to_tcp6_sock", args[0], |socket| {
        socket.is_full() && socket.protocol == Protocol::Tcp && socket.ipv6
    })
}

pub(super) fn to_tcp(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    cast(processor, "bpf_skc_to_tcp_sock", args[0], |socket| {
        socket.is_full() && socket.protocol == Protocol::Tcp
    })
}

pub(super) fn to_timewait(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    cast(processor, "bpf_skc_to_tcp_timewait_sock", args[0], |socket| {
        socket.state == SocketState::TimeWait
    })
}

pub(super) fn to_request(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    cast(processor, "bpf_skc_to_tcp_request_sock", args[0], |socket| {
        socket.state == SocketState::NewSynRecv
    })
}

pub(super) fn to_udp6(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    cast(processor, "bpf_skc_to_udp6_sock", args[0], |socket| {
        socket.protocol == Protocol::Udp && socket.ipv6
    })
}

/// No lookup finds a Unix socket.
pub(super) fn to_unix(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    cast(processor, "bpf_skc_to_unix_sock", args[0], |_| false)
}

/// The environment has no MPTCP sockets.
pub(super) fn to_mptcp(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    cast(processor, "bpf_skc_to_mptcp_sock", args[0], |_| false)
}

/// The socket of a pointer, also after casts.
pub(super) fn socket_at(processor: &Processor, address: u64) -> Option<&SocketEntry> {
    let origin = origin(processor, address)?;
    let mut image: SocketImage = [0; size_of::<SocketImage>()];
    processor.memory.read(origin, &mut image).ok()?;
    let sockets = &processor.shared.net.sockets;
    sockets.at(sockets.like(&image)?)
}

/// Number of the socket for the tuple in the arguments.
fn find(
    processor: &Processor,
    name: &str,
    args: &[u64; 5],
    protocol: Protocol,
) -> Result<Option<u32>, Box<Fault>> {
    context(name, args[0])?;
    let len = args[2] as u32;
    processor.check_argument(name, 2, (args[1], len as usize, false))?;
    let (from, to) = match len as usize {
        TUPLE_IPV4 => tuple_ipv4(read(processor, name, 2, args[1])?),
        TUPLE_IPV6 => tuple_ipv6(read(processor, name, 2, args[1])?),
        _ => return Ok(None),
    };
    if args[4] != 0 {
        return Ok(None);
    }
    let netns = u32::try_from(args[3] as i32).ok();
    let place = Place { netns, device: processor.context.ingress_ifindex };
    Ok(processor.shared.net.sockets.find(&Ends { protocol, from, to }, place))
}

/// Source and destination of a `struct bpf_sock_tuple`.
pub(super) fn tuple_ipv4(bytes: [u8; TUPLE_IPV4]) -> (SocketAddr, SocketAddr) {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
    let port = |high, low| u16::from_be_bytes([high, low]);
    (([a, b, c, d], port(i, j)).into(), ([e, f, g, h], port(k, l)).into())
}

pub(super) fn tuple_ipv6(bytes: [u8; TUPLE_IPV6]) -> (SocketAddr, SocketAddr) {
    let mut ip = [[0_u8; 16]; 2];
    ip[0].copy_from_slice(&bytes[..16]);
    ip[1].copy_from_slice(&bytes[16..32]);
    let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    ((ip[0], port(32)).into(), (ip[1], port(34)).into())
}

pub(super) const TUPLE_IPV4: usize = 12;
pub(super) const TUPLE_IPV6: usize = 36;

/// The full socket of a number: that of a request is its listener, one in time-wait has none.
fn full(processor: &Processor, number: u32) -> Option<u32> {
    let sockets = &processor.shared.net.sockets;
    match sockets.at(number)?.state {
        SocketState::NewSynRecv => sockets.listener_of(number),
        SocketState::TimeWait => None,
        _ => Some(number),
    }
}

fn lend(processor: &mut Processor, number: u32) -> u64 {
    let image = processor.shared.net.sockets.at(number).map(|socket| socket.image);
    image.and_then(|image| processor.lend(Kind::Socket, &image, false)).unwrap_or(0)
}

/// The address that was lent, also for a cast pointer.
fn origin(processor: &Processor, address: u64) -> Option<u64> {
    match processor.lent(address, Kind::Socket)? {
        len if len == size_of::<SocketImage>() => Some(address),
        _ => processor.memory.load64(address + SOCKET_ORIGIN as u64).ok(),
    }
}

/// The socket as the kernel's structure, if it is of that type.
fn cast(
    processor: &mut Processor,
    name: &str,
    address: u64,
    fits: impl FnOnce(&SocketEntry) -> bool,
) -> Answer {
    if RegionId::of(address) == RegionId::NULL {
        return Ok(0);
    }
    let Some(socket) = socket_at(processor, address) else {
        return Err(bad_argument(name, 1, "not a socket"));
    };
    if !fits(socket) {
        return Ok(0);
    }
    let image = socket.image;
    let origin = origin(processor, address).unwrap_or(0);
    let shown = processor.show(Kind::Socket, &kernel_socket(&image, origin), false);
    shown.ok_or_else(|| bad_argument(name, 1, "too many objects are lent"))
}
