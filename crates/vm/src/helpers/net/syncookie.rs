//! SYN cookies for listening sockets, and raw ones for programs that respond without a socket.

use packet::header_len::{IPV4 as IPV4_HEADER, IPV6 as IPV6_HEADER, TCP as TCP_HEADER};
use packet::tcp_flag as flag;

use super::socket::socket_at;
use super::{in_r0, read};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::helpers::bad_argument;
use crate::processor::Processor;
use crate::world::net::{SocketEntry, Syn};
use crate::world::{Protocol, SocketState};

type Answer = Result<u64, Box<Fault>>;

pub(super) fn check(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    const NAME: &str = "bpf_tcp_check_syncookie";
    let (ip, tcp) = headers(processor, NAME, args)?;
    let socket = socket(processor, NAME, args[0])?;
    Ok(in_r0(check_for(processor, socket, &ip, &tcp).map(|()| 0)))
}

fn check_for(processor: &Processor, socket: &SocketEntry, ip: &Ip, tcp: &Tcp) -> Result<(), Errno> {
    let mode = processor.shared.world.tcp_syncookies;
    if tcp.given < TCP_HEADER || !listens(socket) || mode == 0 {
        return Err(Errno::EINVAL);
    }
    if !tcp.has(flag::ACK) || tcp.has(flag::RST) || tcp.has(flag::SYN) {
        return Err(Errno::ENOENT);
    }
    if ip.given < IPV4_HEADER {
        return Err(Errno::EINVAL);
    }
    if !socket.has_overflowed() {
        return Err(Errno::ENOENT);
    }
    let ipv4 = family(socket, ip)?;
    verify(processor, ip, tcp, ipv4).ok_or(Errno::ENOENT)
}

pub(super) fn make(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    const NAME: &str = "bpf_tcp_gen_syncookie";
    let (ip, tcp) = headers(processor, NAME, args)?;
    let socket = socket(processor, NAME, args[0])?;
    Ok(in_r0(make_for(processor, socket, &ip, &tcp)))
}

fn make_for(processor: &Processor, socket: &SocketEntry, ip: &Ip, tcp: &Tcp) -> Result<u64, Errno> {
    if !tcp.is_whole() || !listens(socket) {
        return Err(Errno::EINVAL);
    }
    let mode = processor.shared.world.tcp_syncookies;
    if mode == 0 {
        return Err(Errno::ENOENT);
    }
    let others = [flag::ACK, flag::FIN, flag::RST];
    if !tcp.has(flag::SYN) || others.iter().any(|other| tcp.has(*other)) {
        return Err(Errno::EINVAL);
    }
    if ip.given < IPV4_HEADER {
        return Err(Errno::EINVAL);
    }
    let ipv4 = family(socket, ip)?;
    if mode != ALWAYS && !socket.queue_full {
        return Err(Errno::ENOENT);
    }
    socket.overflow();
    Ok(make_cookie(processor, ip, tcp, ipv4))
}

pub(super) fn make_ipv4(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    raw_make(processor, "bpf_tcp_raw_gen_syncookie_ipv4", args, true)
}

pub(super) fn make_ipv6(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    raw_make(processor, "bpf_tcp_raw_gen_syncookie_ipv6", args, false)
}

pub(super) fn check_ipv4(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    raw_check(processor, "bpf_tcp_raw_check_syncookie_ipv4", args, true)
}

pub(super) fn check_ipv6(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    raw_check(processor, "bpf_tcp_raw_check_syncookie_ipv6", args, false)
}

fn raw_make(processor: &Processor, name: &str, args: &[u64; 5], ipv4: bool) -> Answer {
    let ip = Ip::whole(processor, name, args[0], ipv4)?;
    let tcp = Tcp::read(processor, name, 2, (args[1], args[2]))?;
    let whole = tcp.is_whole();
    Ok(if whole { make_cookie(processor, &ip, &tcp, ipv4) } else { Errno::EINVAL.in_r0() })
}

fn raw_check(processor: &Processor, name: &str, args: &[u64; 5], ipv4: bool) -> Answer {
    let ip = Ip::whole(processor, name, args[0], ipv4)?;
    let tcp = Tcp::read(processor, name, 2, (args[1], TCP_HEADER as u64))?;
    Ok(verify(processor, &ip, &tcp, ipv4).map_or(Errno::EACCES.in_r0(), |()| 0))
}

/// The cookie, with the segment size in the upper half.
fn make_cookie(processor: &Processor, ip: &Ip, tcp: &Tcp, ipv4: bool) -> u64 {
    let least = if ipv4 { LEAST_MSS_IPV4 } else { LEAST_MSS_IPV6 };
    let mss = tcp.mss().unwrap_or(least);
    let syn = syn(ip, tcp, ipv4, 0);
    let (cookie, mss) = processor.shared.net.cookies.make(&syn, minute(processor), mss);
    u64::from(cookie) | u64::from(mss) << 32
}

/// Checks that the acknowledgment is of a cookie.
fn verify(processor: &Processor, ip: &Ip, tcp: &Tcp, ipv4: bool) -> Option<()> {
    let syn = syn(ip, tcp, ipv4, 1);
    let cookie = tcp.word(8).wrapping_sub(1);
    processor.shared.net.cookies.check(&syn, minute(processor), cookie).map(|_| ())
}

/// The client's first packet, `later` sequence numbers before.
fn syn<'a>(ip: &'a Ip, tcp: &Tcp, ipv4: bool, later: u32) -> Syn<'a> {
    let addresses = if ipv4 { &ip.bytes[12..20] } else { &ip.bytes[8..40] };
    let [a, b, c, d, ..] = tcp.bytes;
    let sequence = tcp.word(4).wrapping_sub(later);
    Syn { addresses, ports: [a, b, c, d], sequence, ipv4 }
}

/// The current minute.
fn minute(processor: &Processor) -> u32 {
    (processor.now_ns() / 60_000_000_000) as u32
}

fn listens(socket: &SocketEntry) -> bool {
    socket.protocol == Protocol::Tcp && socket.state == SocketState::Listen
}

/// Whether the packet is IPv4; an error if the socket does not accept its family.
fn family(socket: &SocketEntry, ip: &Ip) -> Result<bool, Errno> {
    match ip.bytes[0] >> 4 {
        4 if socket.ipv6 && socket.ipv6_only => Err(Errno::EINVAL),
        4 => Ok(true),
        6 if ip.given < IPV6_HEADER || !socket.ipv6 => Err(Errno::EINVAL),
        6 => Ok(false),
        _ => Err(Errno::EPROTONOSUPPORT),
    }
}

fn socket<'a>(
    processor: &'a Processor,
    name: &str,
    address: u64,
) -> Result<&'a SocketEntry, Box<Fault>> {
    socket_at(processor, address).ok_or_else(|| bad_argument(name, 1, "not a socket"))
}

/// The headers in arguments 2 to 5.
fn headers(processor: &Processor, name: &str, args: &[u64; 5]) -> Result<(Ip, Tcp), Box<Fault>> {
    let ip = Ip::read(processor, name, (args[1], args[2]))?;
    Ok((ip, Tcp::read(processor, name, 4, (args[3], args[4]))?))
}

/// An IP header, possibly truncated.
struct Ip {
    bytes: [u8; IPV6_HEADER],
    given: usize,
}

impl Ip {
    fn read(processor: &Processor, name: &str, (at, len): (u64, u64)) -> Result<Self, Box<Fault>> {
        let (bytes, given) = prefix(processor, name, 2, (at, len))?;
        Ok(Self { bytes, given })
    }

    fn whole(processor: &Processor, name: &str, at: u64, ipv4: bool) -> Result<Self, Box<Fault>> {
        let given = if ipv4 { IPV4_HEADER } else { IPV6_HEADER };
        let (bytes, given) = prefix(processor, name, 1, (at, given as u64))?;
        Ok(Self { bytes, given })
    }
}

/// A TCP header with options, possibly truncated.
struct Tcp {
    bytes: [u8; TCP_LONGEST],
    given: usize,
}

impl Tcp {
    fn read(
        processor: &Processor,
        name: &str,
        argument: u8,
        place: (u64, u64),
    ) -> Result<Self, Box<Fault>> {
        let (bytes, given) = prefix(processor, name, argument, place)?;
        Ok(Self { bytes, given })
    }

    fn len(&self) -> usize {
        usize::from(self.bytes[12] >> 4) * 4
    }

    /// Whether exactly the header was given, including options.
    fn is_whole(&self) -> bool {
        self.given >= TCP_HEADER && self.given == self.len()
    }

    fn has(&self, flag: u8) -> bool {
        self.bytes[13] & flag != 0
    }

    fn word(&self, at: usize) -> u32 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|byte| self.bytes[at + byte]);
        u32::from_be_bytes([a, b, c, d])
    }

    /// The segment size in the options; the last of several.
    fn mss(&self) -> Option<u16> {
        let mut options = &self.bytes[TCP_HEADER..self.len()];
        let mut mss = None;
        loop {
            options = match *options {
                [] | [0, ..] | [_] => return mss,
                [1, ref rest @ ..] => rest,
                [_, len, ..] if len < 2 || usize::from(len) > options.len() => return mss,
                [kind, len, ..] => {
                    if let ([2, 4, high, low, ..], true) = (options, kind == 2) {
                        let size = u16::from_be_bytes([*high, *low]);
                        mss = if size == 0 { mss } else { Some(size) };
                    }
                    &options[usize::from(len)..]
                }
            };
        }
    }
}

/// The bytes at an argument that fit, and the number that was given.
fn prefix<const N: usize>(
    processor: &Processor,
    name: &str,
    argument: u8,
    (at, len): (u64, u64),
) -> Result<([u8; N], usize), Box<Fault>> {
    let given = len as u32 as usize;
    processor.check_argument(name, argument, (at, given, false))?;
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate().take(given) {
        [*byte] = read(processor, name, argument, at + place as u64)?;
    }
    Ok((bytes, given))
}

/// Value of `net.ipv4.tcp_syncookies` that does not require a full queue.
const ALWAYS: u8 = 2;
const TCP_LONGEST: usize = 60;
/// Segment size of a client that gives none.
const LEAST_MSS_IPV4: u16 = 536;
const LEAST_MSS_IPV6: u16 = 1220;
