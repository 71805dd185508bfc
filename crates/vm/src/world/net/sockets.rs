//! The sockets of an environment, looked up as the kernel finds the receiver of a packet.
//!
//! Connected sockets are found by both endpoints; otherwise the best of those that accept packets
//! to the port, first by their own address, then by any. Of equals (several sockets that share a
//! port) the first in the environment is taken; the kernel distributes flows over them by a secret.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::Devices;
use super::socket_image::{self, Image};
use crate::world::{Protocol, Socket, SocketState};

/// All sockets.
#[derive(Debug)]
pub(crate) struct Sockets {
    list: Vec<Entry>,
    connected: HashMap<Ends, Vec<u32>>,
    /// Sockets that accept packets to a port, including connected UDP sockets.
    ports: HashMap<(Protocol, u16), Vec<u32>>,
    images: HashMap<Image, u32>,
}

/// A socket.
#[derive(Debug)]
pub(crate) struct Entry {
    pub protocol: Protocol,
    pub state: SocketState,
    pub ipv6: bool,
    pub ipv6_only: bool,
    pub local: SocketAddr,
    pub remote: Option<SocketAddr>,
    /// Number of the interface to which it is bound; 0 for any.
    pub device: u32,
    netns: Option<u32>,
    pub image: Image,
    /// Whether it issues SYN cookies because its queue is full.
    pub queue_full: bool,
    /// Whether it issued some recently and accepts them.
    overflowed: AtomicBool,
}

/// Source and destination of a packet, in the requested family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ends {
    pub protocol: Protocol,
    pub from: SocketAddr,
    pub to: SocketAddr,
}

/// Scope of a lookup: the network namespace, and the ingress interface of the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub netns: Option<u32>,
    pub device: u32,
}

impl Sockets {
    pub fn new(sockets: &[Socket], devices: &Devices) -> Self {
        let mut all = Self {
            list: Vec::with_capacity(sockets.len()),
            connected: HashMap::new(),
            ports: HashMap::new(),
            images: HashMap::new(),
        };
        for socket in sockets {
            all.add(Entry::new(socket, devices));
        }
        all
    }

    pub fn at(&self, number: u32) -> Option<&Entry> {
        self.list.get(number as usize)
    }

    /// The socket that programs see as this image.
    pub fn like(&self, image: &Image) -> Option<u32> {
        self.images.get(image).copied()
    }

    /// The socket that receives a packet.
    pub fn find(&self, ends: &Ends, place: Place) -> Option<u32> {
        self.find_connected(ends, place).or_else(|| {
            let own = self.best(ends, ends.to.ip(), place);
            own.or_else(|| self.best(ends, any(ends.to.ip()), place))
        })
    }

    /// A listening socket at the address of another: for requests, which have no socket yet.
    pub fn listener_of(&self, number: u32) -> Option<u32> {
        let request = self.at(number)?;
        let from = request.remote?;
        let ends = Ends { protocol: request.protocol, from, to: request.local };
        let place = Place { netns: request.netns, device: request.device };
        let own = self.best(&ends, ends.to.ip(), place);
        own.or_else(|| self.best(&ends, any(ends.to.ip()), place))
    }

    fn find_connected(&self, ends: &Ends, place: Place) -> Option<u32> {
        let fits = |number: &&u32| self.list[**number as usize].is_at(place);
        self.connected.get(ends)?.iter().find(fits).copied()
    }

    /// The socket with the highest score among those with the address `own`.
    fn best(&self, ends: &Ends, own: IpAddr, place: Place) -> Option<u32> {
        let mut best = None;
        for number in self.ports.get(&(ends.protocol, ends.to.port()))? {
            let socket = &self.list[*number as usize];
            let score = if socket.is_at(place) { socket.score(ends, own) } else { None };
            if score > best.map(|(score, _)| score) {
                best = score.map(|score| (score, *number));
            }
        }
        best.map(|(_, number)| number)
    }

    fn add(&mut self, entry: Entry) {
        let number = self.list.len() as u32;
        if let Some(remote) = entry.remote {
            for (local, remote) in
                entry.views().filter_map(|local| Some((local, seen(remote, local)?)))
            {
                let ends = Ends { protocol: entry.protocol, from: remote, to: local };
                self.connected.entry(ends).or_default().push(number);
            }
        }
        // UDP has no listening state: every socket accepts packets except connected TCP sockets.
        if entry.state == SocketState::Listen || entry.protocol == Protocol::Udp {
            let port = (entry.protocol, entry.local.port());
            self.ports.entry(port).or_default().push(number);
        }
        self.images.entry(entry.image).or_insert(number);
        self.list.push(entry);
    }
}

impl Entry {
    fn new(socket: &Socket, devices: &Devices) -> Self {
        let device = socket.dev.as_ref().map_or(0, |name| devices.index_of(name));
        Self {
            protocol: socket.protocol,
            state: socket.state(),
            ipv6: socket.local.is_ipv6(),
            ipv6_only: socket.ipv6_only,
            local: socket.local,
            remote: socket.remote,
            device,
            netns: socket.netns,
            image: socket_image::of(socket, device),
            queue_full: socket.syncookies,
            overflowed: AtomicBool::new(socket.syncookies),
        }
    }

    /// Whether it is a full socket: neither a request nor in time-wait.
    pub fn is_full(&self) -> bool {
        !matches!(self.state, SocketState::TimeWait | SocketState::NewSynRecv)
    }

    /// Records that the queue overflowed.
    pub fn overflow(&self) {
        self.overflowed.store(true, Relaxed);
    }

    pub fn has_overflowed(&self) -> bool {
        self.overflowed.load(Relaxed)
    }

    fn is_at(&self, place: Place) -> bool {
        self.netns == place.netns && (self.device == 0 || self.device == place.device)
    }

    /// Its address in each family.
    fn views(&self) -> impl Iterator<Item = SocketAddr> {
        let ipv4 = match self.local.ip() {
            IpAddr::V6(v6) if !self.ipv6_only => {
                let any = v6.is_unspecified().then_some(Ipv4Addr::UNSPECIFIED);
                v6.to_ipv4_mapped().or(any).map(IpAddr::V4)
            }
            _ => None,
        };
        let mapped = ipv4.map(|ip| SocketAddr::new(ip, self.local.port()));
        std::iter::once(self.local).chain(mapped)
    }

    /// Score of the match with a packet, as `compute_score` of each protocol and family computes
    /// it.
    fn score(&self, ends: &Ends, own: IpAddr) -> Option<u32> {
        let local = self.views().find(|local| local.ip() == own)?;
        let bound = u32::from(self.device != 0);
        let same_family = u32::from(self.ipv6 != own.is_ipv4());
        if self.protocol == Protocol::Tcp {
            let family = if own.is_ipv4() { same_family } else { 0 };
            return Some(1 + bound + family);
        }
        let connected = self.connected_score(ends, local)?;
        match own {
            IpAddr::V4(_) => Some(1 + same_family + 4 * connected + 4 * bound),
            // A score of zero is also a match.
            IpAddr::V6(_) => Some(connected + bound),
        }
    }

    /// Number of the peer's address and port that are set; those that are set must match.
    fn connected_score(&self, ends: &Ends, local: SocketAddr) -> Option<u32> {
        let Some(remote) = self.remote else { return Some(0) };
        let remote = seen(remote, local)?;
        let (ip, port) = (!remote.ip().is_unspecified(), remote.port() != 0);
        let fits =
            (!ip || remote.ip() == ends.from.ip()) && (!port || remote.port() == ends.from.port());
        fits.then_some(u32::from(ip) + u32::from(port))
    }
}

/// A peer in the family of `local`.
fn seen(remote: SocketAddr, local: SocketAddr) -> Option<SocketAddr> {
    match (remote.ip(), local) {
        (IpAddr::V6(v6), SocketAddr::V4(_)) => {
            let any = v6.is_unspecified().then_some(Ipv4Addr::UNSPECIFIED);
            let v4 = v6.to_ipv4_mapped().or(any)?;
            Some(SocketAddr::new(v4.into(), remote.port()))
        }
        _ => Some(remote),
    }
}

fn any(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}
