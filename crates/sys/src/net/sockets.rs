//! The internet sockets of a namespace, as `ss` lists them (sock_diag).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use netlink_packet_core::{NLM_F_DUMP, NlasIterator};

use super::Ifindex;
use super::conversation::{Conversation, Request};
use crate::error::Result;

/// An open TCP or UDP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InetSocket {
    /// `IPPROTO_TCP` or `IPPROTO_UDP`.
    pub protocol: u8,
    /// As TCP numbers them: 1 established, 7 closed, 10 listening.
    pub state: u8,
    /// Local address and port.
    pub local: SocketAddr,
    /// Unspecified, with port 0, where there is no peer.
    pub remote: SocketAddr,
    /// The interface that it is bound to; 0 for any.
    pub ifindex: Ifindex,
    /// Firewall mark of the socket.
    pub mark: u32,
    /// Whether an IPv6 socket refuses IPv4.
    pub ipv6_only: bool,
}

/// All TCP and UDP sockets of the calling thread's namespace. Marks need `CAP_NET_ADMIN`.
pub fn inet_sockets() -> Result<Vec<InetSocket>> {
    let protocol = netlink_sys::protocols::NETLINK_SOCK_DIAG;
    let mut conversation = Conversation::open("socket(NETLINK_SOCK_DIAG)", protocol)?;
    let mut sockets = Vec::new();
    for (family, protocol) in [
        (libc::AF_INET, libc::IPPROTO_TCP),
        (libc::AF_INET6, libc::IPPROTO_TCP),
        (libc::AF_INET, libc::IPPROTO_UDP),
        (libc::AF_INET6, libc::IPPROTO_UDP),
    ] {
        let mut payload = vec![0; REQUEST];
        payload[0] = family as u8;
        payload[1] = protocol as u8;
        payload[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
        let request = Request {
            call: "sock_diag(SOCK_DIAG_BY_FAMILY)",
            object: "",
            kind: SOCK_DIAG_BY_FAMILY,
            flags: NLM_F_DUMP,
            payload,
        };
        let replies = conversation.exchange(&request)?;
        let replies = replies.iter().filter(|reply| reply.kind == SOCK_DIAG_BY_FAMILY);
        sockets
            .extend(replies.filter_map(|r| InetSocket::from_message(&r.payload, protocol as u8)));
    }
    Ok(sockets)
}

impl InetSocket {
    /// From `struct inet_diag_msg` and its attributes.
    fn from_message(payload: &[u8], protocol: u8) -> Option<Self> {
        let ipv4 = i32::from(*payload.first()?) == libc::AF_INET;
        let u32_at =
            |at: usize| Some(u32::from_ne_bytes(payload.get(at..at + 4)?.try_into().ok()?));
        let port = |at: usize| Some(u16::from_be_bytes(payload.get(at..at + 2)?.try_into().ok()?));
        let ip = |at: usize| address(payload.get(at..at + 16)?, ipv4);
        let mut socket = Self {
            protocol,
            state: *payload.get(1)?,
            local: SocketAddr::new(ip(8)?, port(4)?),
            remote: SocketAddr::new(ip(24)?, port(6)?),
            ifindex: Ifindex(u32_at(40)?),
            mark: 0,
            ipv6_only: false,
        };
        for nla in NlasIterator::new(payload.get(MESSAGE..)?).flatten() {
            match (nla.kind(), nla.value()) {
                (INET_DIAG_MARK, value) => {
                    socket.mark = value.try_into().map_or(0, u32::from_ne_bytes);
                }
                (INET_DIAG_SKV6ONLY, [only, ..]) => socket.ipv6_only = *only != 0,
                _ => {}
            }
        }
        Some(socket)
    }
}

fn address(bytes: &[u8], ipv4: bool) -> Option<IpAddr> {
    if ipv4 {
        return Some(IpAddr::from(<[u8; 4]>::try_from(&bytes[..4]).ok()?));
    }
    Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
}

pub(super) const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `struct inet_diag_req_v2` and `struct inet_diag_msg`.
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
const INET_DIAG_SKV6ONLY: u16 = 11;
const INET_DIAG_MARK: u16 = 15;
