//! Packets of connections that the kernel tracks, by test run in a lab of their own.
//!
//! Connections are made through the stack, without a program, and remain open. A test run looks up
//! connections in the namespace of its interface, so the program finds them.
//!
//! Rule: only this lab tracks connections, which would cost the kernel's router in the others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::Result;
use functions::route::{Config, Nat};
use lab::frame::{Flow, Side, TcpFlags};

use super::alone::{Alone, Meets, Outcome};
use super::frames::Rewrite;
use super::net::Net;
use super::table::Family;
use super::way::{Memory, Setup, Way};
use crate::hook::tool::Tool;

/// A lab with connections through its router.
#[derive(Debug)]
pub struct Tracked {
    /// Dropped first: a connection that cannot be closed would keep its namespace.
    connections: Vec<Connection>,
    net: Net,
}

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// The packet of `Plain`, by a program that does not look up connections.
    Off,
    /// A connection that is not translated.
    Plain,
    /// A connection whose both addresses are translated.
    Translated,
}

#[derive(Debug)]
struct Connection {
    family: Family,
    is_translated: bool,
    /// A packet as it comes in, and as it leaves.
    frames: [Vec<u8>; 2],
    _ends: [TcpStream; 2],
}

impl Tracked {
    /// # Errors
    /// There is no `nft`, the kernel does not track connections, or one cannot be made.
    pub fn build(families: &[Family]) -> Result<Self> {
        let net = Net::build()?;
        Tool::at(net.near.clone(), net.cpu, "nft").run(["-f", "-"], RULES)?;
        let mut connections = Vec::new();
        for family in families {
            for is_translated in [false, true] {
                connections.push(Connection::open(&net, *family, is_translated)?);
            }
        }
        Ok(Self { connections, net })
    }

    /// The row of a family; `None` without such a connection.
    pub fn alone(&self, family: Family, tracking: Tracking) -> Option<Alone<'_>> {
        let is_translated = tracking == Tracking::Translated;
        let connection = self
            .connections
            .iter()
            .find(|one| one.family == family && one.is_translated == is_translated)?;
        let conntrack = tracking != Tracking::Off;
        let config = Config { nat: Nat::Off, conntrack, ..Config::default() };
        let [received, sent] = connection.frames.clone();
        Some(Alone {
            net: &self.net,
            way: Way::Ours(Memory::Followed),
            setup: Setup { config, ..Setup::default() },
            meets: Meets::Frame(received),
            rewrite: Rewrite::Addresses,
            outcome: Outcome::Sends(sent),
        })
    }
}

impl Tracking {
    /// All.
    pub const ALL: [Self; 3] = [Self::Off, Self::Plain, Self::Translated];

    /// The end of its row's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "conntrack/off",
            Self::Plain => "conntrack/plain",
            Self::Translated => "conntrack/translated",
        }
    }
}

impl Connection {
    /// From the sender to the sink; or to the router, which translates its destination to the sink
    /// and its source to itself.
    fn open(net: &Net, family: Family, is_translated: bool) -> Result<Self> {
        let (router, sink) = addresses(family);
        let port = if is_translated { TRANSLATED } else { PLAIN };
        let server = SocketAddr::new(sink, port);
        let to = if is_translated { SocketAddr::new(router, SERVICE) } else { server };
        let listener = net.sink.run(|| TcpListener::bind(server))??;
        let client = net.sender.run(|| TcpStream::connect_timeout(&to, PATIENCE))??;
        let (accepted, masqueraded) = listener.accept()?;
        let side = |mac: packet::Mac, at: SocketAddr| Side { mac, ip: at.ip(), port: at.port() };
        let received = [side(net.sender.mac()?, client.local_addr()?), side(net.near.mac()?, to)];
        let sent = [side(net.far.mac()?, masqueraded), side(net.sink.mac()?, server)];
        let frame = |[from, to]: [Side; 2], ttl| {
            let flags = TcpFlags { ack: true, ..TcpFlags::default() };
            Flow::new(from, to).ttl(ttl).tcp(flags, 1, PAYLOAD)
        };
        let frames = [frame(received, TTL)?, frame(sent, TTL - 1)?];
        Ok(Self { family, is_translated, frames, _ends: [client, accepted] })
    }
}

/// The router's address towards the sender, and the sink's.
fn addresses(family: Family) -> (IpAddr, IpAddr) {
    match family {
        Family::V4 => (Ipv4Addr::new(10, 0, 1, 1).into(), Ipv4Addr::new(10, 0, 2, 2).into()),
        Family::V6 => {
            let address = |link, end| Ipv6Addr::new(0xfd00, 0, 0, link, 0, 0, 0, end).into();
            (address(1, 1), address(2, 2))
        }
    }
}

const RULES: &str = "\
table inet bench {
  chain in {
    type nat hook prerouting priority dstnat;
    tcp dport 80 dnat ip to 10.0.2.2:8080
    tcp dport 80 dnat ip6 to [fd00:0:0:2::2]:8080
  }
  chain out {
    type nat hook postrouting priority srcnat;
    tcp dport 8080 masquerade
  }
}
";
/// Ports: of the service at the router, of the server after it, and of one without translation.
const SERVICE: u16 = 80;
const TRANSLATED: u16 = 8080;
const PLAIN: u16 = 8081;
/// As much as makes an IPv4 frame of 60 bytes.
const PAYLOAD: &[u8] = b"packet";
const TTL: u8 = 64;
const PATIENCE: Duration = Duration::from_secs(5);
