//! `RouteEvents`: notices that forwarding decisions of a namespace may differ from now on, and by
//! which fields of packets its rules and routes decide.
//!
//! Rule: routes are not kept, because there may be millions. Of each, only what widens
//! [`Deciding`] is read, from a dump that arrives over the same socket as the events.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_sys::Socket;

use super::next_hop_events::NextHopEvents;
use crate::error::{Error, Result};

/// Fields of packets by which rules and routes decide, besides the destination and the interface
/// that the packet came in from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deciding {
    /// A rule or an IPv6 route names a source network.
    pub by_source: bool,
    /// A rule or an IPv4 route names a type of service, or a rule a flow label.
    pub by_service: bool,
    /// A rule names a protocol or ports.
    pub by_ports: bool,
    /// A route has several next hops, or its next hops are an object that may have.
    pub has_several_hops: bool,
    /// The smallest MTU that an IPv4 and an IPv6 route have of their own and that is not locked.
    pub route_mtus: [Option<u32>; 2],
    /// An IPv6 rule does not use routes with short prefixes, or through a group of interfaces.
    pub suppresses6: bool,
}

/// A socket that receives all changes which concern forwarding, while it listens.
#[derive(Debug)]
pub struct RouteEvents {
    socket: Socket,
    is_listening: bool,
    deciding: Deciding,
    next_hops: NextHopEvents,
    /// Dumps that have not begun, and the one that is under way.
    waiting: VecDeque<Dump>,
    current: Option<Dump>,
    /// Something of the dump or of the events was lost.
    is_incomplete: bool,
    /// The last call read all events that waited.
    is_drained: bool,
    /// Interfaces or their addresses changed since this was last taken.
    links_changed: bool,
}

/// Requested from the kernel: `RTM_GETROUTE` or `RTM_GETRULE`, and the family.
type Dump = (u16, u8);

impl RouteEvents {
    /// Opens a socket in this thread's network namespace, which does not listen yet. With
    /// `CAP_NET_ADMIN`, it may hold more events than `net.core.rmem_max` permits.
    pub fn open() -> Result<Self> {
        let socket = Socket::new(netlink_sys::protocols::NETLINK_ROUTE).map_err(opening)?;
        let mut this = Self {
            socket,
            is_listening: false,
            deciding: Deciding::default(),
            next_hops: NextHopEvents::default(),
            waiting: VecDeque::new(),
            current: None,
            is_incomplete: true,
            is_drained: false,
            links_changed: false,
        };
        this.socket.bind_auto().map_err(opening)?;
        this.socket.set_non_blocking(true).map_err(opening)?;
        if !this.force_buffer() {
            // The kernel limits this to net.core.rmem_max; an overrun is handled.
            let _ = this.socket.set_rx_buf_sz(BUFFER);
        }
        Ok(this)
    }

    /// Begins to receive changes, and requests all rules and routes.
    pub fn listen(&mut self) -> Result<()> {
        for group in GROUPS {
            self.socket.add_membership(group).map_err(opening)?;
        }
        self.is_listening = true;
        self.synchronize()
    }

    /// Receives no more changes. What waits, and the rest of a dump, is read when it listens again.
    pub fn pause(&mut self) -> Result<()> {
        for group in GROUPS {
            self.socket.drop_membership(group).map_err(opening)?;
        }
        self.is_listening = false;
        self.lose();
        Ok(())
    }

    /// Whether changes are received.
    pub fn is_listening(&self) -> bool {
        self.is_listening
    }

    /// Events were lost, or will be.
    fn lose(&mut self) {
        (self.is_incomplete, self.is_drained, self.links_changed) = (true, false, true);
        self.next_hops = NextHopEvents::default();
    }

    /// Whether the kernel permits a buffer beyond the limit of `net.core.rmem_max`.
    fn force_buffer(&self) -> bool {
        let size = BUFFER as libc::c_int;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
        let length = mem::size_of_val(&size) as libc::socklen_t;
        let fd = self.socket.as_raw_fd();
        // SAFETY: `size` is readable for `length` bytes.
        unsafe { libc::setsockopt(fd, level, option, (&raw const size).cast(), length) == 0 }
    }

    /// Reads all rules and routes again: after events were lost.
    pub fn synchronize(&mut self) -> Result<()> {
        if self.current.is_some() {
            // Its end starts the next one.
            return Ok(());
        }
        self.is_incomplete = false;
        self.deciding = Deciding::default();
        self.waiting = DUMPS.into();
        self.begin()
    }

    /// What rules and routes decide by; `None` while it is not known. Then a dump is under way, or
    /// it was not complete and has to be requested again.
    pub fn deciding(&self) -> Option<Deciding> {
        let is_known = self.current.is_none() && !self.is_incomplete;
        is_known.then_some(self.deciding)
    }

    /// Whether rules and routes have to be read again by [`Self::synchronize`]. Not before all
    /// events were read: after an overrun the kernel drops further events, without a report, until
    /// the socket is empty (`NETLINK_S_CONGESTED`), and a dump would not contain what they changed.
    pub fn is_incomplete(&self) -> bool {
        self.current.is_none() && self.is_incomplete && self.is_drained
    }

    /// Whether events may wait that were not read yet; also during a dump, after its parts.
    pub fn is_behind(&self) -> bool {
        !self.is_drained
    }

    /// Takes events that have come, up to a limit; whether anything changed.
    pub fn take(&mut self) -> Result<bool> {
        let mut any = false;
        self.is_drained = false;
        for _ in 0..MOST_PARTS {
            let mut part = Vec::with_capacity(PART);
            match self.socket.recv(&mut part, 0) {
                Ok(_) => any |= self.read(&part)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_drained = true;
                    break;
                }
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    any = true;
                    self.lose();
                }
                Err(error) => return Err(Error::from_io("recv(NETLINK_ROUTE)", "", &error)),
            }
        }
        Ok(any)
    }

    /// Whether interfaces or their addresses may have changed since the last call; what there is
    /// now has to be read.
    pub fn take_links(&mut self) -> bool {
        std::mem::take(&mut self.links_changed)
    }

    /// Readable while there are events.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket owns its descriptor, which is open as long as the borrow lasts.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }

    /// Requests the next dump, if there is one.
    fn begin(&mut self) -> Result<()> {
        self.current = self.waiting.pop_front();
        let Some((kind, family)) = self.current else { return Ok(()) };
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        let mut request = [0; HEADER + ROUTE];
        request[..4].copy_from_slice(&((HEADER + ROUTE) as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&kind.to_ne_bytes());
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        request[HEADER] = family;
        let sent = self.socket.send(&request, 0);
        sent.map(drop).map_err(|error| Error::from_io("send(NETLINK_ROUTE)", "", &error))
    }

    /// Reads one part; whether it has a message that is not of a dump.
    fn read(&mut self, mut part: &[u8]) -> Result<bool> {
        let mut any = false;
        while let Some(message) = Message::first(&mut part) {
            if message.flags & libc::NLM_F_DUMP_INTR as u16 != 0 {
                self.is_incomplete = true;
            }
            match i32::from(message.kind) {
                libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                    self.is_incomplete |= message.reports_failure();
                    self.begin()?;
                    // What decides is known now, or will be later.
                    any = true;
                }
                _ if matches!(message.kind, libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH) => {
                    let is_new = message.kind == libc::RTM_NEWNEIGH;
                    any |= self.next_hops.take(is_new, message.payload);
                }
                _ => {
                    message.widen(&mut self.deciding);
                    self.links_changed |= LINKS.contains(&message.kind);
                    any |= message.flags & libc::NLM_F_MULTI as u16 == 0;
                }
            }
        }
        Ok(any)
    }
}

/// A netlink message.
#[derive(Clone, Copy, Debug)]
struct Message<'a> {
    kind: u16,
    flags: u16,
    payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Takes the first message; `None` at the end or where the bytes are not a message.
    fn first(bytes: &mut &'a [u8]) -> Option<Self> {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let message = bytes.get(..length)?;
        let payload = message.get(HEADER..)?;
        *bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        let number = |at: usize| u16::from_ne_bytes([message[at], message[at + 1]]);
        Some(Self { kind: number(4), flags: number(6), payload })
    }

    /// A dump that the kernel refused or could not complete.
    fn reports_failure(&self) -> bool {
        self.payload.first_chunk().is_some_and(|code| i32::from_ne_bytes(*code) < 0)
    }

    /// Adds what a new rule or route decides by.
    fn widen(&self, deciding: &mut Deciding) {
        let Some(header) = self.payload.first_chunk::<ROUTE>() else { return };
        let (source_bits, service) = (header[2], header[3]);
        let attributes = || Attributes(&self.payload[ROUTE..]);
        match self.kind {
            libc::RTM_NEWROUTE => {
                deciding.by_source |= source_bits != 0;
                deciding.by_service |= service != 0;
                let smallest = match i32::from(header[0]) {
                    libc::AF_INET => &mut deciding.route_mtus[0],
                    _ => &mut deciding.route_mtus[1],
                };
                for (kind, value) in attributes() {
                    match kind {
                        libc::RTA_MULTIPATH | RTA_NH_ID => deciding.has_several_hops = true,
                        libc::RTA_METRICS => {
                            *smallest = smallest.iter().copied().chain(route_mtu(value)).min();
                        }
                        _ => {}
                    }
                }
            }
            libc::RTM_NEWRULE => {
                deciding.by_source |= source_bits != 0;
                deciding.by_service |= service != 0;
                let is_ipv6 = i32::from(header[0]) == libc::AF_INET6;
                for (kind, value) in attributes() {
                    match kind {
                        FRA_SUPPRESS_IFGROUP | FRA_SUPPRESS_PREFIXLEN => {
                            deciding.suppresses6 |= is_ipv6 && *value != [u8::MAX; 4];
                        }
                        FRA_IP_PROTO | FRA_SPORT_RANGE | FRA_DPORT_RANGE | FRA_SPORT_MASK
                        | FRA_DPORT_MASK => deciding.by_ports = true,
                        // Known ones that are not of packets, or of what every lookup has.
                        1..FRA_IP_PROTO => {}
                        _ => deciding.by_service = true,
                    }
                }
            }
            _ => {}
        }
    }
}

/// The MTU among the metrics of a route, unless it is locked.
fn route_mtu(metrics: &[u8]) -> Option<u32> {
    let (mut mtu, mut locked) = (None, 0);
    for (kind, value) in Attributes(metrics) {
        let value = value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        match kind {
            RTAX_LOCK => locked = value.unwrap_or(0),
            RTAX_MTU => mtu = value,
            _ => {}
        }
    }
    mtu.filter(|mtu| *mtu != 0 && locked & 1 << RTAX_MTU == 0)
}

/// Kinds and values of attributes.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let [a, b, c, d] = *self.0.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        // Without the flags of nesting and byte order.
        Some((u16::from_ne_bytes([c, d]) & 0x3fff, value))
    }
}

/// `RTNLGRP_*`: LINK, NEIGH, IPV4_IFADDR, IPV4_ROUTE, IPV4_RULE, IPV6_IFADDR, IPV6_ROUTE,
/// IPV6_RULE, IPV4_NETCONF, IPV6_NETCONF, NEXTHOP.
const GROUPS: [u32; 11] = [1, 3, 5, 7, 8, 9, 11, 19, 24, 25, 32];
/// Messages about interfaces and their addresses.
const LINKS: [u16; 4] =
    [libc::RTM_NEWLINK, libc::RTM_DELLINK, libc::RTM_NEWADDR, libc::RTM_DELADDR];
/// Rules first: they are few.
const DUMPS: [Dump; 4] = [
    (libc::RTM_GETRULE, libc::AF_INET as u8),
    (libc::RTM_GETRULE, libc::AF_INET6 as u8),
    (libc::RTM_GETROUTE, libc::AF_INET as u8),
    (libc::RTM_GETROUTE, libc::AF_INET6 as u8),
];
/// Bytes of `struct nlmsghdr`; of `struct rtmsg` and `struct fib_rule_hdr`, which begin alike.
const HEADER: usize = 16;
const ROUTE: usize = 12;
const RTA_NH_ID: u16 = 30;
/// Metrics of a route: a mask of those that are locked, and the MTU.
const RTAX_LOCK: u16 = 1;
const RTAX_MTU: u16 = 2;
const FRA_SUPPRESS_IFGROUP: u16 = 13;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_IP_PROTO: u16 = 22;
const FRA_SPORT_RANGE: u16 = 23;
const FRA_DPORT_RANGE: u16 = 24;
const FRA_SPORT_MASK: u16 = 28;
const FRA_DPORT_MASK: u16 = 29;
/// Bytes of a part that are read; the kernel fills a dump's parts as far.
const PART: usize = 32 << 10;
/// Parts for one call, so that a dump of a million routes does not keep its caller busy.
const MOST_PARTS: usize = 64;
/// Bytes of events that wait to be read, which the kernel doubles: some 40,000 changes of routes.
const BUFFER: usize = 16 << 20;

fn opening(error: std::io::Error) -> Error {
    Error::from_io("socket(NETLINK_ROUTE)", "", &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, header: [u8; ROUTE], attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut payload = header.to_vec();
        for (kind, value) in attributes {
            payload.extend(((value.len() + 4) as u16).to_ne_bytes());
            payload.extend(kind.to_ne_bytes());
            payload.extend(*value);
            payload.resize(payload.len().next_multiple_of(4), 0);
        }
        let mut bytes = ((payload.len() + HEADER) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(payload);
        bytes
    }

    fn deciding(bytes: &[u8]) -> Deciding {
        let (mut deciding, mut rest) = (Deciding::default(), bytes);
        while let Some(message) = Message::first(&mut rest) {
            message.widen(&mut deciding);
        }
        deciding
    }

    fn header(source_bits: u8, service: u8) -> [u8; ROUTE] {
        let mut header = [0; ROUTE];
        (header[2], header[3]) = (source_bits, service);
        header
    }

    #[test]
    fn plain_routes_and_rules_decide_by_the_destination() {
        let route = message(libc::RTM_NEWROUTE, header(0, 0), &[(1, &[10, 0, 0, 1]), (4, &[1; 4])]);
        let rule = message(libc::RTM_NEWRULE, header(0, 0), &[(6, &[0; 4]), (15, &[254; 4])]);
        assert_eq!(deciding(&[route, rule].concat()), Deciding::default());
    }

    #[test]
    fn what_else_decides_is_found() {
        let none = Deciding::default();
        let route =
            |head, attributes: &[_]| deciding(&message(libc::RTM_NEWROUTE, head, attributes));
        let rule = |head, attributes: &[_]| deciding(&message(libc::RTM_NEWRULE, head, attributes));
        assert_eq!(route(header(64, 0), &[]), Deciding { by_source: true, ..none });
        assert_eq!(route(header(0, 8), &[]), Deciding { by_service: true, ..none });
        let mtu = |family, values: &[(u16, u32)]| {
            let one = |(kind, value): &(u16, u32)| {
                [&8_u16.to_ne_bytes()[..], &kind.to_ne_bytes(), &value.to_ne_bytes()].concat()
            };
            let metrics: Vec<u8> = values.iter().flat_map(one).collect();
            let mut head = header(0, 0);
            head[0] = family;
            deciding(&message(libc::RTM_NEWROUTE, head, &[(8, &metrics)])).route_mtus
        };
        assert_eq!(mtu(2, &[(2, 1400), (8, 10)]), [Some(1400), None]);
        assert_eq!(mtu(2, &[(1, 1 << 2), (2, 1400)]), [None; 2], "locked");
        assert_eq!(mtu(2, &[(8, 10)]), [None; 2]);
        assert_eq!(mtu(10, &[(2, 1400)]), [None, Some(1400)]);
        let several = Deciding { has_several_hops: true, ..none };
        assert_eq!(route(header(0, 0), &[(9 | 1 << 15, &[0; 16])]), several);
        assert_eq!(route(header(0, 0), &[(1, &[1; 4]), (30, &[7; 4])]), several);
        assert_eq!(rule(header(8, 0), &[]), Deciding { by_source: true, ..none });
        assert_eq!(rule(header(0, 4), &[]), Deciding { by_service: true, ..none });
        for kind in [FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE, FRA_SPORT_MASK] {
            let attributes: &[(u16, &[u8])] = &[(15, &[0; 4]), (kind, &[0; 4])];
            assert_eq!(rule(header(0, 0), attributes), Deciding { by_ports: true, ..none });
        }
        let suppresses = |family, length: u32| {
            let mut head = header(0, 0);
            head[0] = family;
            let attributes: &[(u16, &[u8])] = &[(FRA_SUPPRESS_PREFIXLEN, &length.to_ne_bytes())];
            deciding(&message(libc::RTM_NEWRULE, head, attributes)).suppresses6
        };
        assert!(suppresses(10, 0));
        assert!(!suppresses(10, u32::MAX) && !suppresses(2, 0));
        // Of a newer kernel.
        assert!(rule(header(0, 0), &[(25, &[1])]).by_service);
    }

    #[test]
    fn events_may_wait_until_all_that_came_is_read() {
        let mut events = RouteEvents::open().unwrap();
        assert_eq!(events.deciding(), None, "nothing was read");
        for _ in 0..2 {
            events.listen().unwrap();
            assert!(events.is_listening() && events.is_behind(), "a dump is under way");
            let begin = std::time::Instant::now();
            while events.deciding().is_none() {
                assert!(begin.elapsed().as_secs() < 60, "no end of the dump");
                events.take().unwrap();
                if events.is_incomplete() {
                    events.synchronize().unwrap();
                }
            }
            events.take().unwrap();
            assert!(!events.is_behind());
            events.pause().unwrap();
            assert_eq!(events.deciding(), None, "changes are lost");
        }
        // The second dump has to wait for the first one.
        events.listen().unwrap();
        events.pause().unwrap();
        events.listen().unwrap();
        assert!(events.current.is_some() && events.is_incomplete, "it is read again");
    }

    #[test]
    fn any_bytes_are_read_to_an_end() {
        let whole = message(libc::RTM_NEWROUTE, header(0, 0), &[(9, &[0; 16])]);
        for end in 0..whole.len() {
            deciding(&whole[..end]);
            let mut broken = whole.clone();
            broken[end] ^= 0xff;
            deciding(&broken);
        }
    }
}
