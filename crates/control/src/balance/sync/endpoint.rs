//! `Endpoint`: the socket, and what is fresh of what comes in.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use functions::balancer::sync::wire::{LARGEST, Message};
use functions::balancer::sync::{self, Accepted, Key, Refused, Session};

use super::options::SyncOptions;
use crate::error::{Context as _, Result};

#[derive(Debug)]
pub struct Endpoint {
    socket: UdpSocket,
    address: SocketAddr,
    key: Key,
    /// The session of this process.
    own: u64,
    random: File,
    pub peers: BTreeMap<SocketAddr, Peer>,
    pub refused: BTreeMap<Refused, u64>,
}

#[derive(Debug)]
pub struct Peer {
    pub session: Session,
    /// Whether it is among the options, and not a process that takes over.
    is_configured: bool,
    pub heard: Option<Instant>,
    pub sent: u64,
    pub received: u64,
}

/// What came in.
#[derive(Debug)]
pub struct Received {
    pub from: SocketAddr,
    pub message: Message,
    /// Whether the peer's process is new.
    pub joined: bool,
}

impl Endpoint {
    /// # Errors
    /// The address cannot be used, or the key not be read.
    pub fn open(options: &SyncOptions, address: SocketAddr) -> Result<Self> {
        let key = options.key()?;
        let socket = UdpSocket::bind(address).with_context(|| format!("cannot use {address}"))?;
        socket.set_nonblocking(true).context("cannot use a socket")?;
        let mut random = File::open("/dev/urandom").context("cannot open /dev/urandom")?;
        let own = number(&mut random)?;
        let mut this = Self {
            address: socket.local_addr().context("a socket has no address")?,
            socket,
            key,
            own,
            random,
            peers: BTreeMap::new(),
            refused: BTreeMap::new(),
        };
        for peer in &options.peers {
            this.add(*peer, true)?;
        }
        Ok(this)
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a sign of life to all peers.
    pub fn hello(&mut self, lines: u32) {
        for (address, peer) in &mut self.peers {
            if peer.is_configured {
                let datagram = peer.session.hello(&self.key, lines, None);
                peer.send(&self.socket, *address, &datagram);
            }
        }
    }

    /// Sends a message to a peer. What cannot be sent is lost, as it could be on the way.
    pub fn send(&mut self, to: SocketAddr, message: &Message) {
        let Some(peer) = self.peers.get_mut(&to) else { return };
        let datagram = peer.session.seal(&self.key, message);
        peer.send(&self.socket, to, &datagram);
    }

    /// The next fresh message; `None` if nothing more arrived.
    ///
    /// # Errors
    /// The socket failed.
    pub fn receive(&mut self, lines: u32) -> Result<Option<Received>> {
        let mut buffer = [0; LARGEST + 1];
        for _ in 0..BATCH {
            let (length, from) = match self.socket.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // An ICMP error about a datagram that was sent: the peer does not run.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error).context("cannot receive from balancers"),
            };
            match self.accept(&buffer[..length], from, lines) {
                Ok(Some(received)) => return Ok(Some(received)),
                Ok(None) => {}
                Err(refused) => *self.refused.entry(refused).or_default() += 1,
            }
        }
        Ok(None)
    }

    /// Peers of the options whose session is known.
    pub fn partners(&self) -> Vec<SocketAddr> {
        let is_partner = |peer: &Peer| peer.session.is_joined() && peer.is_configured;
        self.peers.iter().filter(|(_, peer)| is_partner(peer)).map(|(one, _)| *one).collect()
    }

    pub fn random(&mut self) -> Result<u64> {
        number(&mut self.random)
    }

    fn accept(
        &mut self,
        bytes: &[u8],
        from: SocketAddr,
        lines: u32,
    ) -> std::result::Result<Option<Received>, Refused> {
        if !self.peers.keys().any(|peer| peer.ip() == from.ip()) {
            return Err(Refused::Stranger);
        }
        let (header, message) = sync::open(&self.key, bytes)?;
        if header.sender == self.own {
            return Err(Refused::Reflected);
        }
        let random = self.random().map_err(|_| Refused::Session)?;
        if !self.peers.contains_key(&from) {
            self.add(from, false).map_err(|_| Refused::Session)?;
        }
        let peer = self.peers.get_mut(&from).ok_or(Refused::Session)?;
        let accepted = peer.session.accept(&header, &message, random)?;
        let joined = match accepted {
            Accepted::Fresh => false,
            Accepted::Joined(answer) | Accepted::Unknown(answer) => {
                let datagram = peer.session.hello(&self.key, lines, Some(answer));
                peer.send(&self.socket, from, &datagram);
                matches!(accepted, Accepted::Joined(_))
            }
        };
        if let Accepted::Unknown(_) = accepted {
            return Ok(None);
        }
        peer.heard = Some(Instant::now());
        peer.received += 1;
        Ok(Some(Received { from, message, joined }))
    }

    /// Processes that take over have other ports than the configured peers; those that were silent
    /// longest make space.
    fn add(&mut self, address: SocketAddr, is_configured: bool) -> Result<()> {
        let others = self.peers.iter().filter(|(_, peer)| !peer.is_configured);
        if !is_configured && others.clone().count() >= MOST_OTHERS {
            let silent = others.min_by_key(|(_, peer)| peer.heard).map(|(address, _)| *address);
            silent.map(|silent| self.peers.remove(&silent));
        }
        let session = Session::new(self.own, self.random()?);
        let peer = Peer { session, is_configured, heard: None, sent: 0, received: 0 };
        self.peers.insert(address, peer);
        Ok(())
    }
}

impl Peer {
    pub const fn is_configured(&self) -> bool {
        self.is_configured
    }

    fn send(&mut self, socket: &UdpSocket, to: SocketAddr, datagram: &[u8]) {
        if socket.send_to(datagram, to).is_ok() {
            self.sent += 1;
        }
    }
}

/// A random number that is not 0.
fn number(random: &mut File) -> Result<u64> {
    let mut bytes = [0; 8];
    random.read_exact(&mut bytes).context("cannot read random numbers")?;
    Ok(u64::from_ne_bytes(bytes) | 1)
}

/// Datagrams that are read before other work is done.
const BATCH: usize = 256;
/// Processes that take over, of which a host has one normally.
const MOST_OTHERS: usize = 8;
